"""Fault tests that need no server, small: F1, F3, F4, F10, F12, F17, F18. ``benchmarks/soak.py`` has the full sizes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.storage import SQLiteStore
from dtrbandit.trial import Ask, Taken, Trial
from trial.children import run
from trial.small_trial import DESIGN, POLICY, address, begun, fill


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_killed_process_loses_nothing_that_it_acknowledged(mode: str, tmp_path: Path) -> None:
    acknowledged = int(run("-m", "trial.kills", str(tmp_path), mode, "3"))

    assert acknowledged >= 3


def test_parallel_repetitions_under_a_key_are_one_event(tmp_path: Path) -> None:
    keys, times = 10, 8
    with begun(address(tmp_path)) as trial, ThreadPoolExecutor(times) as threads:
        each = [Ask(dtr.Enroll(f"u{n}", {"x": n / 3}), "nurse", f"k{n}", "site") for n in range(keys)]
        asks = [ask for ask in each for _ in range(times)]

        answers = list(threads.map(lambda ask: trial.take([ask])[0], asks))

        assert all(isinstance(answer, Taken) for answer in answers)
        taken = [answer for answer in answers if isinstance(answer, Taken)]
        for n in range(keys):
            own = taken[n * times : (n + 1) * times]
            assert len({str(answer.decision) for answer in own}) == 1
            assert sum(not answer.repeated for answer in own) == 1
        assert trial.head.sequence == 1 + 2 * keys


def test_a_key_with_another_body_and_no_key_with_another_body_write_nothing(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        trial.take([Ask(dtr.Enroll("u1", {"x": 1.0}), key="k1")])
        head = trial.head

        same, other, bare, differs = trial.take(
            [
                Ask(dtr.Enroll("u1", {"x": 1.0}), key="k1"),
                Ask(dtr.Enroll("u1", {"x": 2.0}), key="k1"),
                Ask(dtr.Enroll("u1", {"x": 1.0})),
                Ask(dtr.Enroll("u1", {"x": 2.0})),
            ]
        )

        assert isinstance(same, Taken)
        assert isinstance(bare, Taken)
        assert same.decision == bare.decision
        assert isinstance(other, dtr.ProtocolError)
        assert isinstance(differs, dtr.ProtocolError)
        assert trial.head == head


def test_an_outcome_that_cannot_be_is_refused_and_one_that_can_is_taken() -> None:
    trial = begun("memory://")
    for unit in ("early", "left", "gone", "done"):
        trial.enroll(unit, {"x": 1.0})
    trial.respond("left", {"r": -1.0})
    trial.respond("done", {"r": 1.0, "z": 1.0})
    trial.withdraw("gone", reason="moved away")
    trial.complete("done", 1.0)
    asked = [("early", 1.0), ("done", 1.0), ("done", 2.0), ("unknown", 1.0), ("gone", 1.0), ("left", 1.0)]

    answers = trial.take([Ask(dtr.Complete(unit, outcome)) for unit, outcome in asked])

    kinds = ["ProtocolError", "Taken", "ProtocolError", "NotFound", "ProtocolError", "Taken"]
    assert [type(answer).__name__ for answer in answers] == kinds
    assert [answer.repeated for answer in answers if isinstance(answer, Taken)] == [True, False]


def test_a_full_disk_refuses_the_whole_batch_and_the_trial_recovers_by_itself(tmp_path: Path) -> None:
    session = dtr.Session(DESIGN, POLICY, seed=1)
    with begun(address(tmp_path)) as trial:
        fill(trial, 6)
        fill(session, 6)
        store = trial._store
        assert isinstance(store, SQLiteStore)
        head = trial.head
        (pages,) = store.ask("PRAGMA page_count")[0]
        store.ask(f"PRAGMA max_page_count = {pages}")

        answers = trial.take([Ask(dtr.Enroll(f"v{n}", {"x": n / 3})) for n in range(60)])

        assert {type(answer) for answer in answers} == {dtr.Unavailable}
        assert trial.head == head
        assert trial.session_log() == session.log
        store.ask("PRAGMA max_page_count = 100000")
        for n in range(60):
            assert trial.enroll(f"v{n}", {"x": n / 3}) == session.enroll(f"v{n}", {"x": n / 3})
        assert trial.verify(head)


HASH = """
from plain_process import begin
begin()
from trial.small_trial import begun, fill
trial = begun("memory://")
fill(trial, 40)
print(trial.head.hash)
"""


@pytest.mark.parametrize("threads", ["1", "8"])
def test_replays_with_other_threads_and_uncompiled_have_the_same_hash(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = begun("memory://")
    fill(trial, 40)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, threads)

    assert run("-c", HASH).strip() == trial.head.hash


@pytest.mark.parametrize(
    "policy",
    [POLICY, dtr.DTRBandit(q=2, delta=0.1, schedule="permuted"), dtr.Greedy(), dtr.LSVIUCB(beta=1.0)],
    ids=["q1", "q2", "greedy", "lsvi"],
)
def test_singular_designs_constant_columns_and_unseen_arms_never_fail(policy: Any) -> None:
    stages = [
        dtr.Stage("first", ("a", "b", "c"), "1 + x + y"),  # y is twice x: never determined
        dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0"),  # z is constant
    ]
    trial = Trial.create("odd", dtr.Design(stages), policy, storage="memory://", seed=1)
    for t in range(40):
        trial.enroll(f"u{t}", {"x": float(t % 2), "y": 2.0 * (t % 2)})
        if trial.respond(f"u{t}", {"r": 1.0 if t % 3 else -1.0, "z": 1.0}):
            trial.complete(f"u{t}", 1.0)

    assert trial.verify()
    assert trial.summary().gaps or isinstance(policy, dtr.LSVIUCB)  # said, not hidden; a ridge determines everything
