"""F11: a state machine over the verbs of a trial; a plain session must say the same, event for event.

In between the trial is closed and opened, by its log or by a snapshot of any moment, opened twice, locked, and its disk
fails. ``benchmarks/soak.py`` has the full size.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import dtrbandit as dtr
from dtrbandit.policies.registry import examples
from dtrbandit.record import Ended, Opened
from dtrbandit.storage import SQLiteStore
from dtrbandit.trial import Ask, Taken, Trial
from dtrbandit.trial.opening import is_guessable
from policies.states import differences
from trial.small_trial import DESIGN
from trial.snapshot_files import opened_from, take_snapshot

units = st.sampled_from([f"u{n}" for n in range(6)])
numbers = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
reasons = st.sampled_from(["because", "for another reason"])
arms = st.sampled_from(["a", "b"])
sites = st.sampled_from([None, "north", "south"])
contexts = st.fixed_dictionaries({"x": numbers})
responses = st.one_of(st.fixed_dictionaries({"r": numbers, "z": numbers}), st.fixed_dictionaries({"r": st.just(-1.0)}))
commands = st.one_of(
    st.builds(dtr.Enroll, units, contexts),
    st.builds(dtr.Enroll, units, contexts, st.none(), st.none(), sites),
    st.builds(dtr.Respond, units, responses),
    st.builds(dtr.Respond, units, responses),
    st.builds(dtr.Complete, units, numbers),
    st.builds(dtr.Withdraw, units, reasons),
    st.builds(dtr.Override, units, arms, reasons),
    st.builds(dtr.Correct, units, reasons, numbers),
    st.builds(dtr.Correct, units, reasons, st.none(), st.just("first"), contexts),
    st.builds(dtr.Hold, reasons, sites),
    st.builds(dtr.Release, reasons, sites),
    st.builds(dtr.Unblind, units, reasons),
    st.builds(dtr.Void, units, reasons),
)


class TrialMachine(RuleBasedStateMachine):
    """A trial in a file, and the session that it must be."""

    @initialize(policy=st.sampled_from([each for each in examples() if not is_guessable(each)]), seed=st.integers(0, 3))
    def begin(self, policy: Any, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.address = f"sqlite:///{self.folder}/trial.db"
        self.trial = Trial.create("pilot", DESIGN, policy, storage=self.address, seed=seed)
        self.session = dtr.Session(DESIGN, policy, seed=seed)
        self.keys: dict[str, tuple[Ask, Taken]] = {}

    def teardown(self) -> None:
        if hasattr(self, "trial"):
            self.trial.close()
            shutil.rmtree(self.folder)

    def said(self, command: Any) -> object:
        """Return what the session says: its decision, or its error."""
        try:
            reply = self.session.answer(command)
        except dtr.DTRError as error:
            return str(error)
        self.session.believe(reply)
        return reply.decision

    @rule(batch=st.lists(commands, min_size=1, max_size=6))
    def take(self, batch: list[Any]) -> None:
        answers = self.trial.take([Ask(command) for command in batch])

        for command, answer in zip(batch, answers, strict=True):
            expected = self.said(command)
            assert (answer.decision if isinstance(answer, Taken) else str(answer)) == expected, command

    @rule(command=commands, key=st.sampled_from(["k1", "k2"]))
    def ask_under_a_key(self, command: Any, key: str) -> None:
        ask = Ask(command, key=key)
        (answer,) = self.trial.take([ask])

        if key in self.keys:
            known, first = self.keys[key]
            if type(known.command) is type(command) and known == ask:  # Void and Unblind are equal as tuples
                assert answer == first._replace(repeated=True)
            else:
                assert "belongs to another request" in str(answer)
            return
        assert (answer.decision if isinstance(answer, Taken) else str(answer)) == self.said(command)
        if isinstance(answer, Taken) and answer.facts:
            self.keys[key] = ask, answer

    @rule()
    def reopen(self) -> None:
        self.trial.close()
        self.trial = Trial.open("pilot", storage=self.address)

    @rule()
    def take_a_snapshot(self) -> None:
        take_snapshot(self.trial)

    @rule()
    def reopen_by_a_snapshot(self) -> None:
        take_snapshot(self.trial)
        self.reopen()
        assert opened_from(self.trial) == self.trial.head.sequence

    @rule(command=commands)
    def tell_by_another_handle(self, command: Any) -> None:
        with Trial.open("pilot", storage=self.address) as other:
            (answer,) = other.take([Ask(command)])
        assert (answer.decision if isinstance(answer, Taken) else str(answer)) == self.said(command)

    @rule(batch=st.lists(commands, min_size=1, max_size=4))
    def fail(self, batch: list[Any]) -> None:
        """Let the disk be full just now: whatever would be written is refused, all of it, and nothing is left."""
        store = self.trial._store
        assert isinstance(store, SQLiteStore)
        head = self.trial.head
        store.ask("PRAGMA query_only = ON")
        answers = self.trial.take([Ask(command) for command in batch])
        store.ask("PRAGMA query_only = OFF")

        assert self.trial.head == head
        if any(isinstance(answer, dtr.Unavailable) for answer in answers):
            assert all(isinstance(answer, dtr.Unavailable) for answer in answers)

    @rule(seed=st.integers(0, 3))
    def lock(self, seed: int) -> None:
        if self.trial.phase != "rehearsal":
            return
        self.trial.lock(actor=None, reason="approved", seed=seed)
        opened = self.trial.session_log()[0]
        assert isinstance(opened, Opened)
        assert [record.event for record in self.trial.rehearsal()][1:] == [*self.session.log[1:], Ended("approved")]
        self.session = dtr.Session.resume([opened])
        self.keys = {}

    @invariant()
    def the_logs_are_equal(self) -> None:
        if hasattr(self, "trial"):
            assert self.trial.session_log() == self.session.log
            assert [record.event for record in self.trial.records()] == self.session.log
            assert [unit.unit for unit in self.trial.units()] == list(self.session.histories.in_flight)
            assert self.trial.summary() == self.session.summary()
            assert differences(self.trial._log.belief.state, self.session._belief.state) == []
            assert self.trial.verify()
