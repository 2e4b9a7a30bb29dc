"""Charts: their geometry, their tables, and nothing but classes in them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.web.charts import (  # noqa: E402
    Chart,
    Scale,
    chart_of_intervals,
    chart_of_leads,
    chart_of_lines,
    chart_of_shares,
)
from dtrbandit.web.figures import Leads, Lines, Shares  # noqa: E402

EVIL = '"><script>alert(1)</script>'


def parsed(chart: Chart) -> ElementTree.Element:
    assert "style" not in chart.svg
    assert "<script" not in chart.svg
    return ElementTree.fromstring(str(chart.svg))


def heights(chart: Chart, number: int) -> list[float]:
    found = parsed(chart).iter("rect")
    return [float(each.attrib["height"]) for each in found if each.attrib["class"] == f"fill c{number}"]


def test_shares_are_columns_that_fill_the_axis() -> None:
    shares = Shares("first", ("a", EVIL), (1, 3, 5), np.array([[2, 0], [1, 1]]))

    chart = chart_of_shares(shares, "Arms", "About")

    assert heights(chart, 0)[:2] == [202.0, 101.0]
    assert heights(chart, 1)[:1] == [101.0]
    assert chart.rows == (("1–2", "2", "0"), ("3–4", "1", "1"))
    assert chart.heads == ("decisions", "a", EVIL)


def test_lines_have_a_name_at_their_end_and_skip_what_is_not_known() -> None:
    lines = Lines(("one", "two"), np.array([1, 2, 3]), np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, np.nan]]))

    chart = chart_of_lines(lines, "Lines", "About", over="round")

    drawn = [each.attrib["d"] for each in parsed(chart).iter("path") if each.attrib["class"].startswith("line")]
    assert len(drawn) == 1
    assert drawn[0].count("L") == 2
    assert "one" in chart.svg
    assert chart.rows[0] == ("1", "1.000", "–")


def test_leads_show_the_threshold() -> None:
    values = np.array([1.0, 2.0])
    leads = Leads("first", np.array([1, 2]), values, values + 1, values + 2, 2.5, 1, 2)

    chart = chart_of_leads(leads, "Margin", "About")

    assert "Δ/2 = 2.500" in chart.svg
    assert 'class="band c0"' in chart.svg
    assert chart.rows[1] == ("2", "2.000", "3.000", "4.000")


def test_intervals_are_drawn_where_there_are_any() -> None:
    rows = [("plan", 1.0, 0.5, 1.5), (EVIL, 2.0, np.nan, np.nan)]

    chart = chart_of_intervals(rows, "Values", "About")

    assert len(list(parsed(chart).iter("circle"))) == 2
    assert chart.svg.count('class="line c0"') == 1
    assert 'class="line c1"' not in chart.svg
    assert chart.rows[1][2:] == ("–", "–")


@pytest.mark.parametrize("count", [0, 1])
def test_little_is_drawn_too(count: int) -> None:
    known = np.arange(1, count + 1)
    values = np.ones(count)
    parsed(chart_of_shares(Shares("s", ("a",), (1, count + 1), np.ones((count, 1), dtype=np.int64)), "t", "a"))
    parsed(chart_of_lines(Lines(("a",), known, values[None]), "t", "a", over="unit"))
    parsed(chart_of_leads(Leads("s", known, values, values, values, None, 0, count), "t", "a"))
    parsed(chart_of_intervals([("p", 1.0, 1.0, 1.0)] * count, "t", "a"))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-12.3, -4.5), (0, 98_765), (1e-4, 3e-4), (5, 5)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    ticks = Scale(low, high, 0, 1).ticks()

    assert 1 <= len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)


def test_names_at_the_ends_of_lines_do_not_touch() -> None:
    lines = Lines(tuple("abcdef"), np.array([1, 2]), np.array([[1.0, 1.0]] * 6))

    chart = chart_of_lines(lines, "Lines", "About", over="unit")

    places = [float(y) for y in re.findall(r'class="name" x="[\d.]+" y="([\d.]+)"', str(chart.svg))]
    assert len(places) == 6
    assert min(np.diff(sorted(places))) >= 12
