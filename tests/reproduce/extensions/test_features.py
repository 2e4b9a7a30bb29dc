"""Wrong features: every claim can fail, and what missing ones cost is known."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import Synthetic
from dtrbandit.reproduce.extensions import features
from reproduce.curves import RegretCurve, logarithmic, power
from reproduce.extension_studies import by_hand, by_law, held, verdicts_on
from reproduce.impostors import AT_MOST, LOGARITHM, POWER_03, ROOT, Law

LEARNT: dict[str, RegretCurve] = {
    features.RIGHT: logarithmic(20.0),
    features.TOO_MANY: logarithmic(30.0),
    features.NO_FIRST: power(features.LOSS_WITHOUT_FIRST, 1.0),
    features.NO_SECOND: power(features.LOSS_WITHOUT_SECOND, 1.0),
}


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, "✓✓?✓✓✓✓✓✓"),
        ({features.TOO_MANY: power(3.0, 0.55)}, "✗✗?✗✓✓✓✓✓"),
        ({features.TOO_MANY: power(12.0, 0.35)}, "✓✗?✓✓✓✓✓✓"),
        ({features.TOO_MANY: logarithmic(120.0)}, "✓✓?✓✗✓✓✓✓"),
        ({features.TOO_MANY: logarithmic(19.0)}, "✓✓?✓✗✓✓✓✓"),
        ({features.NO_FIRST: power(7.6, 0.5)}, "✓✓?✓✓✗✓✗✓"),
        ({features.NO_SECOND: logarithmic(30.0)}, "✓✓?✓✓✓✗✓✗"),
        ({features.NO_FIRST: power(0.15, 1.0)}, "✓✓?✓✓✓✓✗✓"),
        ({features.NO_SECOND: power(0.3, 1.0)}, "✓✓?✓✓✓✓✓✗"),
        ({features.NO_SECOND: power(0.45, 1.0)}, "✓✓?✓✓✓✓✓✗"),
    ],
)
def test_missing_features_cost_every_round_and_superfluous_ones_a_factor(
    changed: dict[str, RegretCurve], verdicts: str
) -> None:
    assert verdicts_on("features", by_hand({**LEARNT, **changed})) == verdicts


def line(factor: float, loss: float) -> Law:
    return lambda t: factor * loss * t


@pytest.mark.full
@pytest.mark.parametrize(
    ("too_many", "no_first", "no_second", "places"),
    [
        (ROOT, LOGARITHM, ROOT, [0, 1, 2, 3, 5, 6, 7, 8]),
        (POWER_03, line(1.1, features.LOSS_WITHOUT_FIRST), line(1.2, features.LOSS_WITHOUT_SECOND), [1, 2, 7, 8]),
        (LOGARITHM, line(0.95, features.LOSS_WITHOUT_FIRST), line(0.97, features.LOSS_WITHOUT_SECOND), [4, 7, 8]),
        (lambda t: 2**2.5 * LOGARITHM(t), ROOT, LOGARITHM, [4, 5, 6]),
    ],
)
def test_no_claim_about_features_holds_of_an_impostor(
    too_many: Law, no_first: Law, no_second: Law, places: list[int]
) -> None:
    laws = dict(zip(features.SETTINGS, (LOGARITHM, too_many, no_first, no_second), strict=True))

    assert max(held("features", lambda rng: by_law(laws, rng))[places]) <= AT_MOST


def test_what_missing_features_cost_is_what_one_arm_and_one_plan_lose() -> None:
    """By simulation: 200,000 units, so that means are good to 0.01 or better."""
    units = Synthetic().draw(200_000, np.random.default_rng(1))
    assert units.q is not None

    best = units.q[0].max(axis=1).mean()

    assert best - units.q[0].mean(axis=0).max() == pytest.approx(features.LOSS_WITHOUT_FIRST, abs=0.005)
    assert best - units.outcome.mean(axis=0).max() == pytest.approx(features.LOSS_WITHOUT_SECOND, abs=0.01)
