"""Wrong features: every claim can fail, and what missing ones cost is known."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import Synthetic
from dtrbandit.reproduce.extensions import features
from reproduce.curves import Curve, logarithmic, power
from reproduce.extension_studies import by_hand, failures

LEARNT: dict[str, Curve] = {
    features.RIGHT: logarithmic(20.0),
    features.TOO_MANY: logarithmic(30.0),
    features.NO_FIRST: power(features.LOSS_WITHOUT_FIRST, 1.0),
    features.NO_SECOND: power(features.LOSS_WITHOUT_SECOND, 1.0),
}


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({}, []),
        ({features.TOO_MANY: power(3.0, 0.55)}, [0, 1]),
        ({features.TOO_MANY: logarithmic(120.0)}, [2]),
        ({features.TOO_MANY: logarithmic(19.0)}, [2]),
        ({features.NO_FIRST: power(7.6, 0.5)}, [3, 5]),
        ({features.NO_SECOND: logarithmic(30.0)}, [4, 6]),
        ({features.NO_FIRST: power(0.15, 1.0)}, [5]),
        ({features.NO_SECOND: power(0.3, 1.0)}, [6]),
        ({features.NO_SECOND: power(0.45, 1.0)}, [6]),
    ],
)
def test_missing_features_cost_every_round_and_superfluous_ones_a_factor(
    changed: dict[str, Curve], failing: list[int]
) -> None:
    assert failures("features", by_hand({**LEARNT, **changed})) == failing


def test_what_missing_features_cost_is_what_one_arm_and_one_plan_lose() -> None:
    """By simulation: 200,000 units, so that means are good to 0.01 or better."""
    units = Synthetic().draw(200_000, np.random.default_rng(1))
    assert units.q is not None

    best = units.q[0].max(axis=1).mean()

    assert best - units.q[0].mean(axis=0).max() == pytest.approx(features.LOSS_WITHOUT_FIRST, abs=0.005)
    assert best - units.outcome.mean(axis=0).max() == pytest.approx(features.LOSS_WITHOUT_SECOND, abs=0.01)
