"""Delay: every claim holds of a penalty that adds, can fail, and holds of no impostor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dtrbandit.reproduce.extensions.delay import AT_ONCE, DELAYS
from reproduce.curves import RegretCurve, logarithmic, power
from reproduce.extension_studies import by_hand, by_law, held, verdicts_on
from reproduce.impostors import AT_MOST, LOGARITHM, POWER_03, ROOT, Law


def later(curve: RegretCurve, penalty: float) -> RegretCurve:
    """Return a curve with a penalty that is paid in the first hundred rounds or so."""
    return lambda t, path: curve(t, path) + penalty * (1 - np.exp(-t / 30))


DELAYED: dict[str, RegretCurve] = {
    "no delay": logarithmic(20.0),
    **{name: later(logarithmic(20.0), 0.1 * mean) for name, mean in DELAYS.items()},
}


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, "✓✓?✓✓?✓✓"),
        ({"delay 300": power(1.0, 0.55)}, "✗✗?✗✗?✓✓"),
        ({"delay 300": logarithmic(26.0)}, "✓✓?✓✗?✓✓"),
        ({"delay 30": logarithmic(15.0)}, "✓✓?✓✗?✓✓"),
        ({"delay 300": DELAYED["delay 10"]}, "✓✓?✓✓?✗✓"),
        ({"delay 10": later(logarithmic(20.0), 20.0)}, "✓✓?✓✓?✓✗"),
    ],
)
def test_delay_is_a_penalty_that_adds(changed: dict[str, RegretCurve], verdicts: str) -> None:
    assert verdicts_on("delay", by_hand({**DELAYED, **changed})) == verdicts


def uninformed(mean: int) -> Law:
    """Return the law of a policy that learns nothing for so many rounds; a round of the first block costs log 2."""
    return lambda t: LOGARITHM(t) + math.log(2) * mean * (1 - np.exp(-t / 30))


@pytest.mark.full
@pytest.mark.parametrize(
    ("impostors", "places"),
    [
        ({"delay 300": ROOT}, [0, 1, 2, 3, 5]),
        ({"delay 10": POWER_03, "delay 300": POWER_03}, [1, 2, 5, 6]),  # and a longer delay costs no more
        ({"delay 300": lambda t: 1.2 * LOGARITHM(t), "delay 30": uninformed(30)}, [4, 5, 7]),
    ],
)
def test_no_claim_about_delay_holds_of_an_impostor(impostors: dict[str, Law], places: list[int]) -> None:
    laws = {**dict.fromkeys([AT_ONCE, *DELAYS], LOGARITHM), **impostors}

    assert max(held("delay", lambda rng: by_law(laws, rng))[places]) <= AT_MOST
