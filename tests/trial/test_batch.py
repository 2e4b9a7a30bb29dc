"""Asks: what may be asked, for whom, and what asks led to before it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import Assigned, Command, Enrolled, History
from dtrbandit.record.chain import unlinked
from dtrbandit.trial import Ask, Taken
from dtrbandit.trial.batch import Batch, Interrupted, check_label, fingerprint
from small_session import Says
from trial.small_trial import DESIGN, Clock, begun


def test_a_batch_links_its_records_and_stores_nothing_by_itself() -> None:
    trial = begun("memory://")
    log = trial._log
    before = log.storage.head()
    batch = Batch(log, Clock(), [])

    answers = [batch.take(Ask(dtr.Enroll(f"u{n}", {"x": 1.0}), "nurse", f"k{n}")) for n in range(3)]

    assert all(isinstance(answer, Taken) for answer in answers)
    assert log.storage.head() == before
    assert [record.sequence for record in unlinked(batch.records, before)] == [2, 3, 4, 5, 6, 7]
    assert (batch.expected, batch.head.sequence) == (1, 7)
    assert [(key.sequence, key.facts) for key in batch.keys.values()] == [(2, 2), (4, 2), (6, 2)]
    again = Ask(dtr.Enroll("u1", {"x": 1.0}), "nurse", "k1")
    expected = answers[1]._replace(repeated=True)  # type: ignore[union-attr]
    assert batch.take(again) == expected
    batch.store()
    assert log.storage.head() == batch.head
    log.note_stored(batch.head)
    assert Batch(log, Clock(), [again]).take(again) == expected  # now from the log


def test_a_session_that_believes_more_than_is_stored_is_read_again() -> None:
    trial = begun("memory://")
    Batch(trial._log, Clock(), []).take(Ask(dtr.Enroll("lost", {"x": 1.0})))

    assert trial.summary().units == 0
    assert trial.enroll("u1", {"x": 1.0}).round == 1


class BreaksOff(Says):
    """A policy that fails when it learns from one unit, after something was recorded of it."""

    def update(self, state: dtr.Design, history: History, event: Any) -> dtr.Design:
        if history.unit == "bad" and isinstance(event, Assigned):
            raise ZeroDivisionError("by zero")
        return state


def own_trial() -> dtr.Trial:
    policy = BreaksOff(Choice(0, "coin", (0.5, 0.5)))
    return dtr.Trial.create("own", DESIGN, policy, storage="memory://", seed=1, clock=Clock())


def asks(*units: str) -> list[Ask]:
    return [Ask(dtr.Enroll(unit, {"x": 1.0}), "nurse", f"key of {unit}") for unit in units]


def test_an_ask_of_several_that_breaks_off_interrupts_the_batch_and_nothing_is_stored() -> None:
    trial = own_trial()
    good, bad = asks("good", "bad")
    batch = Batch(trial._log, Clock(), [good, bad])
    batch.take(good)

    with pytest.raises(Interrupted):
        batch.take(bad)

    assert trial.head.sequence == 1
    assert trial.summary().units == 0


def test_asks_of_an_interrupted_batch_are_taken_one_by_one_and_only_the_bad_one_is_refused() -> None:
    trial = own_trial()

    answers = trial.take(asks("u1", "bad", "u2", "u1"))

    assert [type(answer).__name__ for answer in answers] == ["Taken", "DesignError", "Taken", "Taken"]
    assert answers[3] == answers[0]._replace(repeated=True)  # type: ignore[union-attr]  # it was taken
    assert "failed: ZeroDivisionError" in str(answers[1])
    enrolled = [event for event in trial.session_log() if isinstance(event, Enrolled)]
    assert [(event.unit, event.round) for event in enrolled] == [("u1", 1), ("u2", 2)]
    assert trial.summary().units == len(trial.units()) == trial.ledger().units == 2
    assert trial.verify()


# -- content and labels ---------------------------------------------------------------------------------------------


def test_a_fingerprint_is_of_the_content() -> None:
    one = fingerprint(dtr.Enroll("u1", {"x": 1, "y": 2.5}))

    assert one == fingerprint(dtr.Enroll("u1", {"y": 2.5, "x": 1.0}))
    assert one == fingerprint(dtr.Enroll("u1", {"x": np.float64(1), "y": np.float64(2.5)}))
    others: list[Command] = [
        dtr.Enroll("u2", {"x": 1, "y": 2.5}),
        dtr.Enroll("u1", {"x": 2, "y": 2.5}),
        dtr.Enroll("u1", {"x": True, "y": 2.5}),
        dtr.Enroll("u1", {"x": "1", "y": 2.5}),  # type: ignore[dict-item]
        dtr.Enroll("u1", {"x": 1}),
        dtr.Respond("u1", {"x": 1, "y": 2.5}),
    ]
    assert len({one, *map(fingerprint, others)}) == len(others) + 1


def test_anything_has_a_fingerprint() -> None:
    for strange in (float("nan"), 10**400, None, object, [1, {"a": 2}]):
        assert len(fingerprint(dtr.Complete("u1", strange))) == 64  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "a" * 201, "a\nb", "\0", 7, b"a"])
def test_a_label_that_cannot_be_recorded_is_refused(text: object) -> None:
    with pytest.raises(dtr.ObservationError, match="an actor must be a printable text"):
        check_label(text, "an actor")


def test_a_label_may_be_missing() -> None:
    check_label(None, "an actor")
    check_label("Dr. Ü", "an actor")


# -- sites ----------------------------------------------------------------------------------------------------------

ABOUT = [
    dtr.Respond("u1", {"r": -1.0}),
    dtr.Complete("u1", 1.0),
    dtr.Withdraw("u1", "moved away"),
    dtr.Override("u1", "a", "allergy"),
    dtr.Correct("u1", "typo", stage="first", context={"x": 0.25}),
    dtr.Void("u1", "not eligible"),
    dtr.Unblind("u1", "an emergency"),
]


@pytest.mark.parametrize("command", ABOUT, ids=lambda command: type(command).__name__)
def test_a_unit_of_another_site_is_refused_and_nothing_is_recorded(command: Any) -> None:
    trial = begun("memory://")
    trial.enroll("u1", {"x": 0.5}, site="north")
    trial.enroll("nobody's", {"x": 0.5})
    before = trial.head

    answers = trial.take(
        [
            Ask(command, site="south"),
            Ask(command._replace(unit="nobody's"), site="south"),
            Ask(command, key="k", site="east"),
        ]
    )

    assert [type(answer) for answer in answers] == [dtr.NotAllowed] * 3
    assert "north" not in str(answers[0])
    assert trial.head == before


def test_a_site_acts_on_its_own_units_and_hears_alike_of_others_and_of_unknown_ones() -> None:
    trial = begun("memory://")

    trial.enroll("s1", {"x": 0.5}, site="south")

    first, again, elsewhere, wrong, unknown, others = trial.take(
        [
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="north"), site="north"),
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="north"), site="north"),
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="south"), site="south"),
            Ask(dtr.Enroll("u2", {"x": 0.5}, site="south"), site="north"),
            Ask(dtr.Complete("u9", 1.0), site="north"),
            Ask(dtr.Complete("s1", 1.0), site="north"),
        ]
    )

    assert isinstance(first, Taken)
    assert isinstance(again, Taken)
    assert again.repeated
    assert type(elsewhere) is dtr.ProtocolError
    assert isinstance(wrong, dtr.NotAllowed)
    assert isinstance(unknown, dtr.NotAllowed)
    assert isinstance(others, dtr.NotAllowed)
    assert str(unknown) == str(others).replace("s1", "u9")


def test_what_is_about_the_trial_is_not_for_a_site() -> None:
    trial = begun("memory://")

    for command in (dtr.Hold("why"), dtr.Release("why"), dtr.CloseArm("first", "a", "why"), dtr.End("why")):
        (answer,) = trial.take([Ask(command, site="north")])
        assert isinstance(answer, dtr.NotAllowed)
    assert trial.head.sequence == 1


def test_a_site_looks_at_its_own_units_alone() -> None:
    trial = begun("memory://")
    for unit, site in (("u1", "north"), ("u2", "south"), ("u3", None)):
        trial.enroll(unit, {"x": 0.5}, site=site)

    assert trial.unit("u1", site="north") == trial.unit("u1")
    assert [trial.unit(unit).site for unit in ("u1", "u2", "u3")] == ["north", "south", None]
    for unit in ("u2", "u3", "unknown"):
        with pytest.raises(dtr.NotAllowed, match=f"'{unit}' is not one of site 'north'; look at the id"):
            trial.unit(unit, site="north")
    with pytest.raises(dtr.NotFound):
        trial.unit("unknown")


def test_a_story_is_told_once_the_look_is_on_record() -> None:
    trial = begun("memory://")
    trial.enroll("u1", {"x": 0.5}, site="north", actor="nurse A")

    story = trial.unblind("u1", reason="an emergency", actor="nurse B")

    assert story.site == "north"
    assert story.decisions == trial.unit("u1").decisions
    assert (story.records[-1].actor, story.records[-1].event) == ("nurse B", dtr.record.Unblinded("u1", "an emergency"))
    assert "enrolled with x 0.5, at site north (nurse A)" in str(story)
    assert "unblinded (an emergency) (nurse B)" in str(story)
    assert trial.verify()


def test_units_are_listed_by_site() -> None:
    trial = begun("memory://")
    for unit, site in (("u1", "north"), ("u2", "south"), ("u3", None), ("u4", "north")):
        trial.enroll(unit, {"x": 0.5}, site=site)

    assert [unit.unit for unit in trial.units(site="north")] == ["u1", "u4"]
    assert [unit.site for unit in trial.units()] == ["north", "south", None, "north"]
    assert trial.units(site="east") == []
