"""Figure 1: its claims hold of curves as the paper describes them, every one can fail, and none holds of impostors."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce import FIGURES
from dtrbandit.reproduce.figure1 import DTRB, EPSILON_GREEDY, GREEDY, LSVI_UCB
from reproduce.curves import RegretCurve, logarithmic, power, sometimes, study_of, study_with, verdicts_on
from reproduce.impostors import AT_MOST, LINE, LOGARITHM, PATHS, POWER_03, ROOT, RUNS, Law, noisy

STUCK, LEARNS = power(0.2, 1.0), logarithmic(5.0)
AS_IN_FIGURE_1: dict[str, RegretCurve] = {
    "DTRB(5, 0.5)": logarithmic(20.0),
    "Greedy": sometimes(0.25, STUCK, LEARNS),
    "0.1-Greedy": power(0.1, 1.0),
    "LSVI-UCB": power(50.0, 0.3),
}


def test_the_claims_of_figure_1_hold_of_curves_as_the_paper_describes_them() -> None:
    """But for that about mean regret: at 40 paths it cannot be told."""
    assert list(FIGURES["figure1"].policies) == list(AS_IN_FIGURE_1)
    assert verdicts_on("figure1", AS_IN_FIGURE_1) == "✓✓?✓✓✓✓✓"


@pytest.mark.parametrize(
    ("policy", "curve", "verdicts"),
    [
        ("DTRB(5, 0.5)", power(0.05, 1.0), "✗✗?✓✓✓✓✓"),
        ("DTRB(5, 0.5)", power(2.0, 0.55), "✗✗?✓✓✓✓✓"),
        ("DTRB(5, 0.5)", power(5.0, 0.35), "✓✗?✓✓✓✓✓"),
        ("Greedy", LEARNS, "✓✓??✓✓✓✓"),  # no stuck path of 40: fewer than 9 % are
        ("Greedy", STUCK, "✓✓?✓✗✓✓✓"),
        ("Greedy", power(2.0, 0.6), "✓✓??✗✓✓✓"),
        ("0.1-Greedy", logarithmic(100.0), "✓✓?✓✓✗✓✓"),
        ("0.1-Greedy", power(5.0, 0.5), "✓✓?✓✓✗✓✓"),
        ("LSVI-UCB", power(0.5, 1.0), "✓✓?✓✓✓✗✓"),
        ("LSVI-UCB", sometimes(0.5, power(0.5, 1.0), power(3.0, 0.7)), "✓✓?✓✓✓?✓"),
        ("LSVI-UCB", power(11.0, 0.3), "✓✓?✓✓✓✓✗"),
    ],
)
def test_each_claim_of_figure_1_can_fail(policy: str, curve: RegretCurve, verdicts: str) -> None:
    assert verdicts_on("figure1", {**AS_IN_FIGURE_1, policy: curve}) == verdicts


LAWS: dict[str, Law | float] = {DTRB: LOGARITHM, GREEDY: LOGARITHM, EPSILON_GREEDY: LINE, LSVI_UCB: LOGARITHM}


def mixed(share: float, rng: np.random.Generator) -> Array:
    """Return paths of which this share never learns, at random."""
    never = rng.random((PATHS, 1)) < share
    return np.where(never, noisy(LINE, rng), noisy(LOGARITHM, rng))


@pytest.mark.full
@pytest.mark.parametrize(
    ("impostors", "places"),
    [
        ({DTRB: ROOT, GREEDY: 0.04, EPSILON_GREEDY: ROOT, LSVI_UCB: LINE}, [0, 1, 2, 3, 5, 6]),
        ({DTRB: POWER_03, GREEDY: 0.6, LSVI_UCB: LOGARITHM}, [1, 2, 4, 7]),
        ({GREEDY: LOGARITHM}, [2, 3]),
        ({DTRB: LINE, GREEDY: ROOT}, [0, 1, 2, 3]),
    ],
)
def test_no_claim_of_figure_1_holds_of_an_impostor(impostors: dict[str, Law | float], places: list[int]) -> None:
    """A number is the share of the paths that never learn."""
    held = np.zeros(8, dtype=int)
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        laws = {**LAWS, **impostors}
        regret = {name: mixed(law, rng) if isinstance(law, float) else noisy(law, rng) for name, law in laws.items()}
        held += [claim.holds for claim in FIGURES["figure1"].claims(study_with(regret))]

    assert max(held[places]) <= AT_MOST


def test_titles_follow_from_the_data_and_a_policy_has_one_colour_in_both_panels() -> None:
    other = study_of({**AS_IN_FIGURE_1, "DTRB(5, 0.5)": power(0.5, 1.0)})

    left, right = FIGURES["figure1"].draw(other).axes

    assert left.get_title(loc="left") == "Lowest at the end: Greedy (118); highest: DTRB(5, 0.5) (1,020)"
    assert right.get_title(loc="left") == "DTRB(5, 0.5) against log t"
    colours = [{line.get_color() for line in ax.lines if line.get_label() == "DTRB(5, 0.5)"} for ax in (left, right)]
    assert colours[0] == colours[1]
