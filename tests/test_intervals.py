"""Student's intervals, against tables and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.intervals import interval, student_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [
        (1, 12.7062047),
        (2, 4.3026527),
        (3, 3.1824463),
        (4, 2.7764451),
        (9, 2.2621572),
        (30, 2.0422725),
        (999, 1.9623415),
    ],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, expected: float) -> None:
    assert student_quantile(freedom) == pytest.approx(expected, abs=5e-7)


def test_with_one_degree_of_freedom_the_quantile_is_a_tangent() -> None:
    assert student_quantile(1, level=0.8) == pytest.approx(np.tan(0.4 * np.pi))


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    """19 in 20 of 4,000 intervals, give or take five standard deviations of 0.0034."""
    means = interval(np.random.default_rng(1).normal(size=(4, 4000)))

    covered = ((means.low < 0) & (means.high > 0)).mean()
    assert abs(covered - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 4000)
