"""Trials whose regimes have known values: three arms at first, leavers, three kinds of loss, confounded choices.

x is seen first, and one of three arms follows, by x. Then e and r are seen; units with e ≥ 0.6 leave. Others stay until
the second stage by x and r. There z and s are seen, and one of two arms follows, by z. Outcomes are lost by x, for
leavers by r. All outcome models are linear: e and s do not depend on x.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.kernels.arrays import Array
from evaluation.simulated_cohorts import cohort_of, expit

Arms = NDArray[np.int64]

DESIGN = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b", "c"), features="1 + x"),
        dtr.Stage("second", arms=("a", "b"), features="1 + x + r + z + s + C(first)", enter_if="e < 0.6"),
    ]
)
RIGHT = dtr.PropensityModel(
    choice={"first": "1 + x", "second": "1 + z"},
    staying={"second": "1 + x + r", "outcome": "1 + x", "outcome without second": "1 + r"},
)
WRONG = dtr.PropensityModel(
    choice={"first": "1", "second": "1"},
    staying={"second": "1", "outcome": "1", "outcome without second": "1"},
)
RIGHT_OUTCOMES = dtr.OutcomeModel(
    staying={
        "second": "1 + x + r + C(first)",
        "outcome": "1 + x + r + z + C(first) + C(second) + s:C(second)",
        "outcome without second": "1 + x + r + C(first)",
    },
)
WRONG_OUTCOMES = dtr.OutcomeModel(
    choice={"first": "1", "second": "1"},
    staying={"second": "1", "outcome": "1", "outcome without second": "1"},
)
REGIMES = {
    "a, then b": dtr.FixedRegime(rule={"first": "a", "second": "b"}),
    "c, then a": dtr.FixedRegime(rule={"first": "c", "second": "a"}),
    "b, then by s": dtr.FixedRegime(
        rule={"first": "b", "second": {"a": [0, 0, 0, 0, 1, 0, 0], "b": [0, 0, 0, 0, 0, 0, 0]}}
    ),
}


def trial(n: int, rng: np.random.Generator, *, confounding: float = 1.0) -> Cohort:
    """Draw a trial; ``confounding`` multiplies all that choices and loss depend on, and leaves the truth as it is."""
    x = rng.normal(size=n)
    odds = np.exp(confounding * np.stack([np.zeros(n), 0.4 * x, -0.3 * x]))
    first = (rng.random(n) > np.cumsum(odds / odds.sum(axis=0), axis=0)).sum(axis=0)
    e, r, z, s = _responses(x, first, rng)
    second = (rng.random(n) < expit(confounding * 0.4 * z)).astype(np.int64)
    enters = e < 0.6
    arrives = enters & (rng.random(n) < expit(1.8 + confounding * (0.4 * x - 0.5 * r)))
    kept = np.where(enters, 2.2 - confounding * 0.4 * x, 1.8 + confounding * 0.5 * r)
    told = (arrives | ~enters) & (rng.random(n) < expit(kept))
    outcome = np.where(told, _outcome(x, r, z, s, first, np.where(enters, second, -1), rng), np.nan)
    contexts = [{"x": x}, {"e": e, "r": r, "z": np.where(arrives, z, np.nan), "s": np.where(arrives, s, np.nan)}]
    return cohort_of(DESIGN, contexts, np.stack([first, np.where(arrives, second, -1)], axis=1), outcome)


def truth(name: str) -> float:
    """Return the mean outcome if all follow a regime: x, s and the noise have mean 0, and e does not depend on them."""
    first = "abc".index(name[0])
    enters = NormalDist(0.4 * (first == 1)).cdf(0.6)
    r = 0.3 * (first == 1)
    z = 0.5 * r + 0.4 * (first == 2)
    second = {"then a": 0.3, "then b": -0.2, "then by s": (0.3 + 0.6 - 0.2) / 2}[name[3:]]
    both = 0.8 * r + 0.5 * (first == 1) - 0.3 * (first == 2)
    return both + enters * (0.7 * z + second) + (1 - enters) * 0.5


def _responses(x: Array, first: Arms, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    n = len(x)
    e = 0.4 * (first == 1) + rng.normal(size=n)
    r = 0.5 * x + 0.3 * (first == 1) + rng.normal(size=n)
    z = 0.5 * r + 0.4 * (first == 2) + rng.normal(size=n)
    return e, r, z, rng.choice([-1.0, 1.0], n)


def _outcome(x: Array, r: Array, z: Array, s: Array, first: Arms, second: Arms, rng: np.random.Generator) -> Array:
    both = x + 0.8 * r + 0.5 * (first == 1) - 0.3 * (first == 2)
    later = np.select([second == 0, second == 1], [0.7 * z + 0.3 + 0.6 * s, 0.7 * z - 0.2], 0.5)
    outcome: Array = both + later + rng.normal(size=len(x))
    return outcome
