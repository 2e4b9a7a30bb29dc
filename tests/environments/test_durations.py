"""The laws of times. Means: five standard errors; distribution functions: Kolmogorov's band, fixed seeds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dtrbandit.environments import Duration, Exponential, Fixed, Gamma, LogNormal
from dtrbandit.errors import DesignError

DRAWS = 100_000
LAWS: list[tuple[Duration, Callable[[float], float]]] = [
    (Exponential(mean=2.0), lambda x: 1 - math.exp(-x / 2)),
    (Gamma(mean=3.0, shape=1.0), lambda x: 1 - math.exp(-x / 3)),
    (Gamma(mean=3.0, shape=2.0), lambda x: 1 - (1 + 2 * x / 3) * math.exp(-2 * x / 3)),
    (LogNormal(mean=2.0, sigma=0.8), lambda x: 0.5 + 0.5 * math.erf((math.log(x / 2) + 0.32) / (0.8 * math.sqrt(2)))),
]


@pytest.mark.parametrize(("law", "below"), LAWS, ids=lambda each: repr(each) if hasattr(each, "mean") else "law")
def test_times_have_their_mean_and_distribution(law: Duration, below: Callable[[float], float]) -> None:
    times = np.sort(law.draw(DRAWS, np.random.default_rng(1)))

    furthest = max(abs(below(float(times[i])) - (i + 0.5) / DRAWS) for i in range(0, DRAWS, 100))

    assert abs(times.mean() - law.mean) <= 5 * times.std() / np.sqrt(DRAWS)
    assert furthest <= 1.95 / np.sqrt(DRAWS)  # exceeded by one true law in a thousand
    assert times.min() >= 0


def test_a_fixed_time_is_always_the_same() -> None:
    np.testing.assert_array_equal(Fixed(1.5).draw((2, 3), np.random.default_rng(0)), np.full((2, 3), 1.5))


def test_only_log_normal_times_have_heavy_tails() -> None:
    assert [law.sub_exponential for law in (Fixed(0.0), Exponential(1.0), Gamma(1.0, 2.0), LogNormal(1.0, 1.0))] == [
        True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Fixed(-1.0), "Fixed: mean must be a finite number of at least 0"),
        (lambda: Fixed(math.nan), "Fixed: mean"),
        (lambda: Exponential(0.0), "Exponential: mean must be a finite number above 0"),
        (lambda: Gamma(1.0, shape=0.0), "Gamma: shape must be a finite number above 0"),
        (lambda: Gamma(math.inf, shape=1.0), "Gamma: mean"),
        (lambda: LogNormal(1.0, sigma=-1.0), "LogNormal: sigma must be a finite number above 0"),
        (lambda: LogNormal(0.0, sigma=1.0), "LogNormal: mean"),
    ],
)
def test_impossible_times_are_refused(wrong: Callable[[], Duration], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        wrong()
