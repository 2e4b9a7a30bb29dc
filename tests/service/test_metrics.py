"""Metrics as Prometheus reads them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.cli.trial_toml import read_trial
from dtrbandit.service.metrics import of_requests, of_trials, sample, series
from dtrbandit.service.service import BOUNDS, Requests, Service
from dtrbandit.storage import Check

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"

LINE = re.compile(r'[a-z_]+(\{([a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? [0-9.e+-]+')


@pytest.mark.parametrize("count", range(20))
def test_a_bucket_counts_what_took_at_most_its_bound(count: int) -> None:
    times = [*np.random.default_rng(count).uniform(0, 20, size=count).tolist(), *BOUNDS[: count // 2]]
    requests = Requests()

    for seconds in times:
        requests.count("enroll_unit", 200, seconds)

    lines = of_requests(requests)
    for bound in BOUNDS:
        expected = sum(seconds <= bound for seconds in times)
        line = f'dtrbandit_request_seconds_bucket{{endpoint="enroll_unit",le="{bound}"}} {expected}'
        assert line in lines or not times
    assert not times or f'dtrbandit_request_seconds_count{{endpoint="enroll_unit"}} {len(times)}' in lines


def test_requests_are_counted_by_endpoint_and_status() -> None:
    requests = Requests()

    for status in (200, 200, 409):
        requests.count("enroll_unit", status, 0.1)

    assert 'dtrbandit_requests_total{endpoint="enroll_unit",status="200"} 2.0' in of_requests(requests)
    assert 'dtrbandit_requests_total{endpoint="enroll_unit",status="409"} 1.0' in of_requests(requests)


@given(st.text(), st.floats(0, 1e9))
def test_a_label_may_hold_anything_but_another_line(text: str, value: float) -> None:
    assert LINE.fullmatch(sample("units", {"trial": text}, value))


def test_a_figure_without_samples_is_left_out() -> None:
    assert series("units", "gauge", "Units.", []) == []


def test_the_last_checks_are_among_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    async def told() -> list[str]:
        service, wanted = Service(url), read_trial(EXAMPLE)
        await service.start()
        await service.create(*wanted, actor="me")
        service.store.note_check(Check("verify", "depression", 100.0, False))
        service.store.note_check(Check("backup", "depression", 200.0, True))
        lines = of_trials(service.trials, service.store.last_checks(), ready=service.ready)
        await service.stop()
        return lines

    lines = asyncio.run(told())

    assert 'dtrbandit_verified_seconds{trial="depression"} 100.0' in lines
    assert 'dtrbandit_verified_ok{trial="depression"} 0.0' in lines
    assert 'dtrbandit_backup_seconds{trial="depression"} 200.0' in lines
    assert 'dtrbandit_log_records{trial="depression"} 1.0' in lines
    assert 'dtrbandit_units_in_flight{trial="depression"} 0.0' in lines
