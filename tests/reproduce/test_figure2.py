"""Figure 2: its claims hold of curves as the paper describes them, every one can fail, and none holds of impostors."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.reproduce import FIGURES
from dtrbandit.reproduce.figure2 import DELTAS, POLICIES, named
from reproduce.curves import RegretCurve, logarithmic, power, sometimes, study_with, verdicts_on, verdicts_on_many
from reproduce.impostors import AT_MOST, LOGARITHM, POWER_03, ROOT, RUNS, Law, noisy

AS_IN_FIGURE_2: dict[str, RegretCurve] = {
    "DTRB(3, 0.5)": logarithmic(15.0),
    "DTRB(10, 0.5)": logarithmic(30.0),
    **{named(*pair): logarithmic(24.0 - place) for place, pair in enumerate(DELTAS)},
}


def test_the_claims_of_figure_2_hold_of_curves_as_the_paper_describes_them() -> None:
    """Two of them are about means: these need 1,000 paths."""
    assert set(FIGURES["figure2"].policies) == set(AS_IN_FIGURE_2)
    assert verdicts_on_many("figure2", AS_IN_FIGURE_2) == "✓✓✓✓✓✓✓✓"
    assert verdicts_on("figure2", AS_IN_FIGURE_2) == "✓✓??✓✓✓✓"


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({"DTRB(5, 0.2)": power(1.8, 0.55)}, "✗✗✗✗✓✓✓✓"),
        ({"DTRB(5, 0.3)": power(9.5, 0.3)}, "✓✗✓✗✓✓✓✓"),
        ({"DTRB(3, 0.5)": power(6.0, 0.3)}, "✓✗✓✓✓✓✓✓"),  # t^0.3 and the mean are not claimed of q = 3
        ({"DTRB(10, 0.5)": logarithmic(60.0)}, "✓✓✓✓✗✓✓✓"),
        ({"DTRB(3, 0.5)": logarithmic(21.5)}, "✓✓✓✓✓✗✓✓"),
        ({"DTRB(10, 0.5)": logarithmic(20.0)}, "✓✓✓✓✓✗✓✓"),
        ({"DTRB(10, 0.5)": sometimes(0.5, logarithmic(30.0), logarithmic(14.0))}, "✓✓✓✓✓?✓✓"),
        ({"DTRB(5, 5)": logarithmic(26.0)}, "✓✓✓✓✓✓✗✗"),
        ({"DTRB(5, 1)": logarithmic(24.0)}, "✓✓✓✓✓✓✓✗"),
        ({"DTRB(5, 0.1)": sometimes(0.5, logarithmic(60.0), logarithmic(18.0))}, "✓✓✓✓✓✓??"),
    ],
)
def test_each_claim_of_figure_2_can_fail(changed: dict[str, RegretCurve], verdicts: str) -> None:
    assert verdicts_on_many("figure2", {**AS_IN_FIGURE_2, **changed}) == verdicts


def times(factor: float) -> Law:
    return lambda t: factor * LOGARITHM(t)


@pytest.mark.full
@pytest.mark.parametrize(
    ("impostors", "places"),
    [
        ({"DTRB(5, 0.2)": ROOT}, [0, 1, 2, 3]),
        ({"DTRB(5, 0.2)": POWER_03}, [1, 3]),
        ({"DTRB(3, 0.5)": times(1 / 3), "DTRB(5, 5)": times(1.1)}, [4, 7]),
        ({"DTRB(10, 0.5)": times(2.0)}, [5, 6]),  # q = 3 and 5 are the same, and so is every Δ
    ],
)
def test_no_claim_of_figure_2_holds_of_an_impostor(impostors: dict[str, Law], places: list[int]) -> None:
    held = np.zeros(8, dtype=int)
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        study = study_with({name: noisy(impostors.get(name, LOGARITHM), rng, horizon=320) for name in POLICIES})
        held += [claim.holds for claim in FIGURES["figure2"].claims(study)]

    assert max(held[places]) <= AT_MOST
