"""Figure 2: its claims hold of curves as the paper describes them, and every one can fail."""

from __future__ import annotations

import pytest

from dtrbandit.reproduce import FIGURES
from dtrbandit.reproduce.figure2 import DELTAS, named
from reproduce.curves import Curve, failures, logarithmic, power, sometimes

AS_IN_FIGURE_2: dict[str, Curve] = {
    "DTRB(3, 0.5)": logarithmic(15.0),
    "DTRB(10, 0.5)": logarithmic(30.0),
    **{named(*pair): logarithmic(24.0 - place) for place, pair in enumerate(DELTAS)},
}


def test_the_claims_of_figure_2_hold_of_curves_as_the_paper_describes_them() -> None:
    assert set(FIGURES["figure2"].policies) == set(AS_IN_FIGURE_2)
    assert failures("figure2", AS_IN_FIGURE_2) == []


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({"DTRB(5, 0.2)": power(2.4, 0.5)}, [0]),
        ({"DTRB(5, 1)": power(0.045, 1.0)}, [0]),
        ({"DTRB(10, 0.5)": logarithmic(60.0)}, [1]),
        ({"DTRB(3, 0.5)": logarithmic(21.5)}, [2]),
        ({"DTRB(10, 0.5)": logarithmic(20.0)}, [2]),
        ({"DTRB(10, 0.5)": sometimes(0.2, logarithmic(60.0), logarithmic(14.0))}, [2]),
        ({"DTRB(3, 0.5)": sometimes(0.3, logarithmic(90.0), logarithmic(15.0))}, [2]),
        ({"DTRB(5, 5)": logarithmic(25.0)}, [3]),
        ({"DTRB(5, 1)": logarithmic(22.0)}, [3]),
        ({"DTRB(5, 0.1)": sometimes(0.5, logarithmic(60.0), logarithmic(18.0))}, [3]),
    ],
)
def test_each_claim_of_figure_2_can_fail(changed: dict[str, Curve], failing: list[int]) -> None:
    assert failures("figure2", {**AS_IN_FIGURE_2, **changed}) == failing
