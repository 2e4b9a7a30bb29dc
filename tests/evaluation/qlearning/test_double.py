"""The double bootstrap: ξ from the data."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.qlearning.bootstrap import reflected, resample_size, resampled
from dtrbandit.evaluation.qlearning.double import LEVEL, XIS, Double, choose_xi
from dtrbandit.evaluation.qlearning.induction import backward_induction
from dtrbandit.evaluation.qlearning.regularity import regularity
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap, Uncertainty
from evaluation.qlearning.samples import smart

DIFFERENCE = np.array([[[-1.0, 0.0], [1.0, 0.0]]])


def double(psi: float) -> Double:
    sample = smart(120, psi, np.random.default_rng(3))
    estimates = np.einsum("lad,ad->l", DIFFERENCE, backward_induction(sample)[0].coefficients)
    return Double(sample, 0, DIFFERENCE, estimates, inner=60, seed=1)


def plain_share(asked: Double, xi: float, outer: int) -> float:
    """Return c(ξ), written as it is defined."""
    held, n = 0, len(asked.sample.outcome)
    for number in range(outer):
        rng = np.random.default_rng([asked.seed, number])
        own = asked.sample.of(rng.integers(n, size=n))
        stages = backward_induction(own)
        size = resample_size(n, regularity(own, stages, 0).share, xi)
        drawn, _ = resampled(own, 0, size=size, resamples=asked.inner, rng=rng)
        theta = stages[0].coefficients[1, 0] - stages[0].coefficients[0, 0]
        low, high = reflected(np.array([theta]), drawn[:, 1, :1] - drawn[:, 0, :1])
        held += bool(low[0] <= asked.estimates[0] <= high[0])
    return held / outer


def test_the_first_xi_that_covers_is_chosen() -> None:
    asked = double(0.0)

    found = choose_xi(asked, outer=40)

    xi = float(found.xi[0])
    assert found.share[0] == pytest.approx(plain_share(asked, xi, 40))
    earlier = [plain_share(asked, tried, 40) for tried in XIS if tried < xi]
    assert all(share < LEVEL for share in earlier)
    assert found.share[0] >= LEVEL or xi == XIS[-1]


def test_the_choice_does_not_depend_on_the_number_of_processes() -> None:
    one, two = (choose_xi(double(0.0), outer=10, n_jobs=jobs) for jobs in (1, 2))

    assert one.xi == two.xi
    assert one.share == two.share


def test_a_fit_can_ask_for_it() -> None:
    asked = double(0.0)
    how = Bootstrap(xi="double", double=20, resamples=100)

    found = Uncertainty(asked.sample, backward_induction(asked.sample), how).intervals(0, DIFFERENCE)

    assert found.method == "m-out-of-n"
    assert found.xi[0] in XIS
    assert found.low[0] < found.estimates[0] < found.high[0]
