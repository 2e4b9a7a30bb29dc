"""Figure 1: its claims hold of curves as the paper describes them, and every one can fail."""

from __future__ import annotations

import pytest

from dtrbandit.reproduce import FIGURES
from reproduce.curves import Curve, failures, logarithmic, power, sometimes

STUCK, LEARNS = power(0.2, 1.0), logarithmic(5.0)
AS_IN_FIGURE_1: dict[str, Curve] = {
    "DTRB(5, 0.5)": logarithmic(20.0),
    "Greedy": sometimes(0.25, STUCK, LEARNS),
    "0.1-Greedy": power(0.1, 1.0),
    "LSVI-UCB": power(50.0, 0.3),
}


def test_the_claims_of_figure_1_hold_of_curves_as_the_paper_describes_them() -> None:
    assert list(FIGURES["figure1"].policies) == list(AS_IN_FIGURE_1)
    assert failures("figure1", AS_IN_FIGURE_1) == []


@pytest.mark.parametrize(
    ("policy", "curve", "failing"),
    [
        ("DTRB(5, 0.5)", power(0.05, 1.0), [0, 1]),
        ("DTRB(5, 0.5)", power(2.0, 0.5), [0, 1]),
        ("Greedy", LEARNS, [2, 3, 4]),
        ("Greedy", STUCK, [3]),
        ("Greedy", power(2.0, 0.5), [2, 3, 4]),
        ("Greedy", sometimes(0.25, power(0.001, 1.0), power(2.0, 0.5)), [2, 4]),
        ("0.1-Greedy", logarithmic(100.0), [5]),
        ("0.1-Greedy", power(5.0, 0.5), [5]),
        ("LSVI-UCB", power(0.5, 1.0), [6]),
        ("LSVI-UCB", sometimes(0.5, power(0.5, 1.0), power(0.5, 0.8)), [6]),
        ("LSVI-UCB", power(11.0, 0.3), [7]),
    ],
)
def test_each_claim_of_figure_1_can_fail(policy: str, curve: Curve, failing: list[int]) -> None:
    assert failures("figure1", {**AS_IN_FIGURE_1, policy: curve}) == failing
