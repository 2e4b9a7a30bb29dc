"""A session in step with a stored log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import EMPTY, Stored
from dtrbandit.storage import MemoryStore, Storage
from dtrbandit.trial import followed
from dtrbandit.trial.followed import FollowedLog, copied, parts
from trial.small_trial import DESIGN, POLICY, begun, fill


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_parts_keep_decisions_with_what_they_answer(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "PART", size)
    trial = begun("memory://")
    fill(trial, 12)
    stored = list(trial._log.storage.read())

    found = list(parts(stored, EMPTY))

    assert [event for events, _ in found for event in events] == trial.session_log()
    assert not [events for events, _ in found if isinstance(events[0], dtr.record.Assigned)]
    assert found[-1][1] == trial.head


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_log_is_read_in_parts_to_the_same_session(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "PART", size)
    trial, session = begun("memory://"), dtr.Session(DESIGN, POLICY, seed=1)
    fill(trial, 30)
    fill(session, 30)

    again = FollowedLog(trial._log.storage)
    again.catch_up()

    assert again.session.log == session.log
    assert again.session.coefficients() == session.coefficients()
    assert again.head == trial.head


def test_a_log_that_was_cut_or_exchanged_is_refused() -> None:
    trial = begun("memory://")
    fill(trial, 3)
    store = trial._store
    assert isinstance(store, MemoryStore)
    records: list[Stored] = store.log(1)._records
    kept = list(records)

    del records[-2:]
    with pytest.raises(dtr.LogError, match="was cut or exchanged"):
        trial.summary()
    records[:] = [*kept[:-1], kept[-1]._replace(hash="0" * 64)]
    with pytest.raises(dtr.LogError, match="was cut or exchanged"):
        trial.summary()
    records[:] = kept

    assert trial.summary().units == 3


class Counting:
    """A log that remembers which records were picked."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self.picked = storage, list[int]()

    def pick(self, sequences: Iterable[int]) -> list[Stored]:
        self.picked = list(sequences)
        return self._storage.pick(self.picked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


def test_since_when_units_wait_is_read_once() -> None:
    trial = begun("memory://")
    fill(trial, 10)
    counting: Any = Counting(trial._log.storage)
    log = trial._log
    log.storage = counting
    before = log.waiting_since()

    again, unread = log.waiting_since(), counting.picked
    trial.enroll("new", {"x": 0.5})
    other = "a" if trial.unit("u0").arms["first"] == "b" else "b"
    trial.override("u0", other, reason="allergy", stage="first")
    after, read = log.waiting_since(), counting.picked

    assert again == before
    assert unread == []
    assert len(read) == 2  # the new unit, and the one of which something is new
    assert {t: time for t, time in after.items() if t in before} == before  # an override is no arrival
    assert after[11] == next(record.time for record in trial.unit("new").records[::-1])
    assert before.keys() == {unit.round for unit in trial.units()} - {11}


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_copied_session_goes_on_alike_and_by_itself(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "PART", size)
    session = dtr.Session(DESIGN, POLICY, seed=1)
    fill(session, 20)
    log = session.log

    copy = copied(session, log)
    copy.enroll("next", {"x": 0.5})

    assert copy.log[: len(log)] == session.log == log
    assert session.enroll("next", {"x": 0.5}) == copy.histories.get("next").decisions[0]  # type: ignore[union-attr]  # it is there
