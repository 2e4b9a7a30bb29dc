"""How claims about curves are measured, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.reproduce.claims import (
    STRAIGHT,
    change,
    final,
    growth,
    halves,
    linear,
    second_half,
    straight_in_log,
    straight_in_t,
    straightness,
)
from dtrbandit.reproduce.claims import logarithmic as logarithmic_claim
from reproduce.curves import logarithmic, power, sometimes, study_of


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, 0.764), (0.5, 0.922)])
def test_a_power_of_t_is_as_straight_in_log_t_as_the_integrals_say(exponent: float, expected: float) -> None:
    """With u = log t uniform on [−2 log 10, 0]: R² of e^(au) on u; at 100 whole rounds, to a hundredth."""
    assert straight_in_log(study_of({"it": power(1.0, exponent)}), "it") == pytest.approx(expected, abs=0.01)


def test_a_logarithm_is_straight_in_log_t_and_a_line_in_t() -> None:
    study = study_of({"log": logarithmic(20.0), "line": power(0.1, 1.0)})

    assert straight_in_log(study, "log") == pytest.approx(1.0, abs=0.01)
    assert straight_in_t(study, "line") == pytest.approx(1.0)
    assert straightness(np.arange(3.0), np.ones(3)) == 0.0


@pytest.mark.parametrize(("exponent", "share"), [(1.0, 0.5), (0.5, 1 - 0.5**0.5)])
def test_the_second_half_of_a_power_has_the_share_of_the_closed_form(exponent: float, share: float) -> None:
    study = study_of({"it": power(3.0, exponent)})

    first, second = halves(study, "it")

    assert second_half(study, "it") == pytest.approx(share)
    assert second / (first + second) == pytest.approx(share)


@pytest.mark.parametrize("exponent", [0.3, 1.0])
def test_growth_is_the_exponent_of_a_power(exponent: float) -> None:
    found = growth(study_of({"it": power(3.0, exponent)}), "it")

    assert (found.mean, found.low, found.high) == pytest.approx((exponent,) * 3)


@pytest.mark.parametrize(("r2", "holds"), [(STRAIGHT, True), (STRAIGHT - 1e-9, False)])
def test_a_curve_is_logarithmic_from_the_stated_r2_on(r2: float, holds: bool) -> None:
    claim = logarithmic_claim("It learns", r2, of=" or more")

    assert claim.holds == holds
    assert claim.measured == "R² = 0.940 or more"


def test_a_line_is_linear_and_neither_a_root_nor_a_logarithm_is() -> None:
    study = study_of({"line": power(0.1, 1.0), "root": power(3.0, 0.5), "log": logarithmic(20.0)})

    claims = [linear("It never learns", study, name, least=0.99, share=(0.4, 0.55)) for name in study.policies]

    assert [claim.holds for claim in claims] == [True, False, False]
    assert claims[0].allowed == "at least 0.99; 40% to 55%"


def test_a_change_is_paired_and_counts_the_paths_with_less() -> None:
    study = study_of({"before": power(1.0, 1.0), "after": sometimes(0.25, power(2.0, 1.0), power(0.5, 1.0))})

    found = change(study, "before", "after")

    assert found.lower_on == 0.75
    assert found.mean == pytest.approx(final(study, "after") - final(study, "before"))
    assert found.low < found.mean < found.high
    assert str(found).startswith(f"{found.mean:+.1f} (")
