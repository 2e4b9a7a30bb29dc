"""A rehearsal: patients who come by themselves, with all that happens to patients."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import dtrbandit as dtr
from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.service.service import Service  # noqa: E402
from dtrbandit.storage import connect  # noqa: E402
from dtrbandit.web import rehearsal  # noqa: E402
from dtrbandit.web.rehearsal import (  # noqa: E402
    NAME,
    Rehearsal,
    SimulatedClock,
    arrivals,
    prepare,
    rehearsed_design,
)


def rehearse(url: str, *, until: int) -> dict[str, str]:
    """Let patients come until the trial has so many records; return the keys."""
    store = connect(url)
    keys = prepare(store)
    store.close()

    async def run() -> None:
        clock = SimulatedClock(datetime.now(UTC), days_a_second=10_000)
        service = Service(url, clock=clock)
        await service.start()
        try:
            async with Rehearsal(service, clock, seed=1).lifespan():
                while not service.ready or (await service.trial(NAME)).head.sequence < until:
                    await asyncio.sleep(0.01)
        finally:
            await service.stop()

    asyncio.run(run())
    return keys


def test_everything_happens_that_happens_to_patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "PAST", 100.0)
    monkeypatch.setattr(rehearsal, "SHARES", dict.fromkeys(rehearsal.SHARES, 0.15))
    url = f"sqlite:///{tmp_path}/rehearsal.db"

    keys = rehearse(url, until=900)

    with dtr.Trial.open(NAME, storage=url) as trial:
        kinds = Counter(type(event).__name__ for event in trial.session_log())
        assert trial.verify().ok
        assert trial.phase == "rehearsal"
    expected = {"Opened", "Enrolled", "Assigned", "Responded", "Completed", "Withdrawn", "Overridden", "Corrected"}
    assert set(kinds) == expected
    assert set(keys) == {"administrator", "site", "statistician", "auditor"}


def test_the_clock_stands_still_until_it_runs() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    clock = SimulatedClock(start, days_a_second=2.0)

    clock.set(start + timedelta(days=3))

    assert clock() == clock() == start + timedelta(days=3)
    assert clock.seconds_until(start + timedelta(days=5)) == 1.0
    clock.run()
    assert clock() >= start + timedelta(days=3)
    assert clock.seconds_until(start + timedelta(days=5)) <= 1.0


def test_the_design_expects_responses_so_that_some_are_late() -> None:
    assert [stage.expected_days for stage in rehearsed_design().stages] == [rehearsal.COURSE] * 2


def test_patients_are_the_same_for_the_same_seed_and_know_what_becomes_of_them() -> None:
    one, other = (list(islice(arrivals(np.random.default_rng(5)), 300)) for _ in range(2))

    assert [patient.special for patient in one] == [patient.special for patient in other]
    assert len({patient.name for patient in one}) == 300
    for patient in one[:50]:
        first, second = patient.context(0, ()), patient.context(1, (0,))
        assert set(first) == set(rehearsed_design().columns[0])
        assert set(second) == set(rehearsed_design().columns[1])
        assert np.isfinite(patient.outcome((0,)))


def test_a_store_that_has_the_trial_already_is_not_touched(tmp_path: Path) -> None:
    store = connect(f"sqlite:///{tmp_path}/used.db")
    prepare(store)

    with pytest.raises(dtr.ProtocolError, match="already"):
        prepare(store)

    assert len(store.api_keys()) == 4
    store.close()
