"""An estimate of a regime's value."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.values.estimate import Support, of_influence, without_interval

SUPPORT = Support(9, 8.5, 0.2)


def test_the_interval_is_the_value_and_twice_the_root_of_the_squared_influences() -> None:
    found = of_influence("always a", "weighted", (2.0, np.array([0.3, -0.4])), SUPPORT)

    assert found.std_error == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((2 - 0.98, 2 + 0.98), abs=1e-4)
    assert found.support is SUPPORT


def test_an_influence_that_is_not_known_cannot_be_compared() -> None:
    found = of_influence("always a", "q-learning", (2.0, np.array([0.3, np.nan])), SUPPORT)

    assert np.isnan(found.std_error)
    assert found.influence is None


def test_without_an_interval_there_is_a_reason() -> None:
    found = without_interval("learned", "q-learning", 2.0, SUPPORT, "it flatters")

    assert np.isnan([found.std_error, found.low, found.high]).all()
    assert found.note == "it flatters"
