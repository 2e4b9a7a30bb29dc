"""A session in step with a stored log."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import EMPTY, Stored
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import followed
from dtrbandit.trial.followed import FollowedLog, parts
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
