"""The double bootstrap: ξ from the data."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from dtrbandit.evaluation.qlearning.bootstrap import reflected, resample_size, resampled
from dtrbandit.evaluation.qlearning.double import LEVEL, XIS, Chosen, Double, choose_xi, chosen_for, parts_of
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
        own = asked.sample.of(np.random.default_rng([asked.seed, number]).integers(n, size=n))
        stages = backward_induction(own)
        size = resample_size(n, regularity(own, stages, 0).share, xi)
        drawn, _ = resampled(own, 0, size=size, resamples=asked.inner, seed=(asked.seed, number, XIS.index(xi)))
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


def test_the_parts_of_a_stage_are_its_coefficients_and_their_differences_between_arms() -> None:
    parts = parts_of(3, 2)

    assert parts.shape == (3 * 2 + 3 * 2, 3, 2)
    assert {tuple(part.ravel()) for part in parts[:6]} == {tuple(row) for row in np.eye(6)}
    assert parts[6].tolist() == [[-1, 0], [1, 0], [0, 0]]  # b less a, first term
    assert parts[-1].tolist() == [[0, 0], [0, -1], [0, 1]]  # c less b, second term


def test_a_combination_takes_the_largest_xi_of_its_parts() -> None:
    chosen = Chosen(np.arange(1, 13) / 100, 1 - np.arange(1, 13) / 1000)  # six coefficients, b-a, c-a, c-b
    x = np.array([2.0, -3.0])
    asked = np.zeros((5, 3, 2))
    asked[0, 1, 0] = 5.0  # one coefficient: the third
    asked[1, 2], asked[1, 0] = x, -x  # an effect of c against a: parts nine and ten
    asked[2, 0], asked[2, 2] = x, -x  # the same, the other way
    asked[3] = 1.0  # no difference of two arms: all coefficients
    asked[4, 1, 1], asked[4, 2, 1] = -1.0, 1.0  # one difference: the last

    found = chosen_for(chosen, asked)

    assert found.xi == pytest.approx([0.03, 0.10, 0.10, 0.06, 0.12])
    assert found.share == pytest.approx([0.997, 0.990, 0.990, 0.994, 0.988])


def test_xi_is_chosen_once_for_a_stage_whatever_is_asked() -> None:
    asked = double(0.0)
    how = Bootstrap(xi="double", double=20, resamples=100)
    known = Uncertainty(asked.sample, backward_induction(asked.sample), how)
    rng = np.random.default_rng(0)

    with patch("dtrbandit.evaluation.qlearning.uncertainty.choose_xi", wraps=choose_xi) as choosing:
        first = known.intervals(0, DIFFERENCE)
        for count in (1, 700, 3):
            known.intervals(0, rng.normal(size=(count, 2, 2)))

    assert choosing.call_count == 1
    alone = choose_xi(Double(asked.sample, 0, DIFFERENCE, first.estimates, how.double, how.seed), outer=how.double)
    assert first.xi == alone.xi  # a difference of coefficients has the ξ that is its own
    assert first.held == alone.share


def test_a_fit_can_ask_for_it() -> None:
    asked = double(0.0)
    how = Bootstrap(xi="double", double=20, resamples=100)

    found = Uncertainty(asked.sample, backward_induction(asked.sample), how).intervals(0, DIFFERENCE)

    assert found.method == "m-out-of-n"
    assert found.xi[0] in XIS
    assert found.low[0] < found.estimates[0] < found.high[0]
