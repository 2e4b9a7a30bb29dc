"""Delay: every claim holds of a penalty that adds, and can fail."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.reproduce.extensions.delay import DELAYS
from reproduce.curves import Curve, logarithmic, power
from reproduce.extension_studies import by_hand, failures


def later(curve: Curve, penalty: float) -> Curve:
    """Return a curve with a penalty that is paid in the first hundred rounds or so."""
    return lambda t, path: curve(t, path) + penalty * (1 - np.exp(-t / 30))


DELAYED: dict[str, Curve] = {
    "no delay": logarithmic(20.0),
    **{name: later(logarithmic(20.0), 0.1 * mean) for name, mean in DELAYS.items()},
}


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({}, []),
        ({"delay 300": power(1.0, 0.55)}, [0, 1, 2]),
        ({"delay 300": logarithmic(26.0)}, [2]),
        ({"delay 30": logarithmic(15.0)}, [2]),
        ({"delay 300": DELAYED["delay 10"]}, [3]),
        ({"delay 10": later(logarithmic(20.0), 20.0)}, [4]),
    ],
)
def test_delay_is_a_penalty_that_adds(changed: dict[str, Curve], failing: list[int]) -> None:
    assert failures("delay", by_hand({**DELAYED, **changed})) == failing
