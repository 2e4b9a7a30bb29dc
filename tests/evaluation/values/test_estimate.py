"""An estimate of a regime's value."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.values.estimate import Support, of_influence, support_of, unless_few, without_interval

SUPPORT = Support(9, 8.5, 0.2)


def test_the_interval_is_that_of_student() -> None:
    found = of_influence("always a", "weighted", (2.0, np.array([0.3, -0.4])), SUPPORT, freedom=7)

    assert found.std_error == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((2 - 2.3646 / 2, 2 + 2.3646 / 2), abs=1e-4)
    assert (found.support, found.freedom) == (SUPPORT, 7)


def test_degrees_of_freedom_are_those_of_equal_weights() -> None:
    assert support_of(np.array([2.0, 0.0, 2.0, 2.0])).freedom == pytest.approx(2.0)
    assert support_of(np.array([1.0, 1e-9])).freedom == 1.0


def test_below_eight_equal_weights_there_is_no_interval() -> None:
    found = of_influence("rare", "weighted", (2.0, np.array([0.3, -0.4])), SUPPORT, freedom=7, note="Mind this.")

    assert unless_few(found, SUPPORT) is found
    refused = unless_few(found, SUPPORT._replace(effective_sample_size=7.9))
    assert refused.value == 2.0
    assert np.isnan([refused.std_error, refused.low, refused.high]).all()
    assert "count as 7.9 equal weights, and at least 8 are needed. Mind this." in refused.note


def test_an_influence_that_is_not_known_cannot_be_compared() -> None:
    found = of_influence("always a", "q-learning", (2.0, np.array([0.3, np.nan])), SUPPORT, freedom=7)

    assert np.isnan(found.std_error)
    assert found.influence is None
    assert "a single unit determines" in found.note


def test_without_an_interval_there_is_a_reason() -> None:
    found = without_interval("learned", "q-learning", 2.0, SUPPORT, "it flatters")

    assert np.isnan([found.std_error, found.low, found.high]).all()
    assert found.note == "it flatters"
