"""Figures as Prometheus reads them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.service.metrics import BOUNDS, Requests, sample, series

LINE = re.compile(r'[a-z_]+(\{([a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? [0-9.e+-]+')


@given(st.lists(st.floats(0, 20)))
def test_a_bucket_counts_what_took_at_most_its_bound(times: list[float]) -> None:
    requests = Requests()

    for seconds in times:
        requests.count("enroll_unit", 200, seconds)

    lines = requests.lines()
    for bound in BOUNDS:
        expected = sum(seconds <= bound for seconds in times)
        line = f'dtrbandit_request_seconds_bucket{{endpoint="enroll_unit",le="{bound}"}} {expected}'
        assert line in lines or not times
    assert not times or f'dtrbandit_request_seconds_count{{endpoint="enroll_unit"}} {len(times)}' in lines


def test_requests_are_counted_by_endpoint_and_status() -> None:
    requests = Requests()

    for status in (200, 200, 409):
        requests.count("enroll_unit", status, 0.1)

    assert 'dtrbandit_requests_total{endpoint="enroll_unit",status="200"} 2.0' in requests.lines()
    assert 'dtrbandit_requests_total{endpoint="enroll_unit",status="409"} 1.0' in requests.lines()


@given(st.text(), st.floats(0, 1e9))
def test_a_label_may_hold_anything_but_another_line(text: str, value: float) -> None:
    assert LINE.fullmatch(sample("units", {"trial": text}, value))


def test_a_figure_without_samples_is_left_out() -> None:
    assert series("units", "gauge", "Units.", []) == []
