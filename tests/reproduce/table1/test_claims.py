"""The claims about Table 1: they hold of the paper's own numbers, and every one can fail."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.reproduce.table1.claims import claims
from dtrbandit.reproduce.table1.entries import ONLINE, PAPER

Array = NDArray[np.float64]


def as_in_the_paper(**changed: float) -> dict[str, Array]:
    """Return ten averages for each online algorithm around the paper's value, or around another."""
    spread = 0.01 * np.linspace(-1, 1, 10)
    values = {"LSVI-UCB observed": -8.0, **{name: PAPER[name] for name in ONLINE if name in PAPER}, **changed}
    return {name: value + np.roll(spread, 3 * place) for place, (name, value) in enumerate(values.items())}


def failures(averages: dict[str, Array], *, logging: float = -8.438, offline: float = -7.688) -> list[int]:
    """Return the places of the claims that do not hold."""
    found = claims(averages, logging=logging, offline=offline)
    return [place for place, claim in enumerate(found) if not claim.holds]


def test_the_claims_hold_of_the_papers_own_numbers() -> None:
    assert failures(as_in_the_paper()) == []


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({"LSVI-UCB": -8.44}, [0]),
        ({"0.2-Greedy": -8.435}, [0]),  # above, but not beyond noise
        ({"Greedy": -7.5}, [1]),
        ({"LSVI-UCB observed": -7.55}, [1]),
        ({"DTRB(1, 50)": -7.8, "DTRB(2, 50)": -7.8, "DTRB(1, 20)": -7.71, "DTRB(2, 20)": -7.72}, [1, 2, 3]),
        ({"DTRB(1, 10)": -7.75, "DTRB(1, 20)": -7.7, "DTRB(1, 50)": -7.6}, [3]),  # a smaller q is worse
        ({"DTRB(1, 10)": -7.5, "DTRB(2, 10)": -7.52}, [3]),  # a larger Δ is worse
    ],
)
def test_each_claim_can_fail(changed: dict[str, float], failing: list[int]) -> None:
    assert failures(as_in_the_paper(**changed)) == failing


def test_a_difference_within_noise_refutes_nothing_and_the_claim_says_that_it_cannot_be_told() -> None:
    averages = as_in_the_paper(Greedy=-7.6)
    averages["Greedy"] = averages["Greedy"] + 0.5 * (-1.0) ** np.arange(10)

    best = claims(averages, logging=-9.0, offline=-7.7)[1]

    assert best.holds
    assert "not told apart from Greedy -0.005" in best.measured
    assert "LSVI-UCB +0.466" in best.measured.split(";")[0].removeprefix(
        "ahead of "
    )  # −8.071 against the mean of the six, −7.605


def test_a_claim_that_fails_says_so_in_words() -> None:
    _, best, often, grid = claims(
        as_in_the_paper(**{"Greedy": -7.5, "DTRB(1, 10)": -7.5, "DTRB(2, 10)": -7.52}), logging=-9.0, offline=-7.0
    )

    assert "behind Greedy -0.0" in best.measured
    assert often.measured == "0 of 6 settings are above it; by their intervals 0 are above and 6 below"
    assert "Δ = 10 to 50: -0.0" in grid.measured
    assert grid.measured.endswith("worse")
