"""The report: what it says where assumptions hold, and where each of them fails."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import (
    ArrivalProcess,
    Exponential,
    LogNormal,
    Synthetic,
)
from theory.cases import Quiet
from theory.told import fails, told


def test_on_section_5_2_everything_holds_but_the_size_of_q() -> None:
    report = told(Synthetic())
    constants = report.constants
    assert constants is not None

    assert list(fails(report)) == ["forced pulls"]
    assert not report.promised
    assert constants.phi == pytest.approx(theory.synthetic_phi((0.2, 0.2)), rel=0.15)
    assert constants.sigma == pytest.approx(1.0, abs=0.05)
    assert constants.b_max == pytest.approx(3.0)
    assert constants.alpha == (1.0, 1.0)
    assert constants.delta == (0.2, 0.2)
    assert report.bound == theory.regret_bound(constants, 400, 2)
    assert report.ratio == report.bound / report.regret > 1e10
    assert "Formula of Theorem 1, no promise here" in str(report)
    assert f"As printed it is {report.ratio:.2g} times the simulated regret." in str(report)
    assert "have no density" in str(report)  # lemma "alpha is one"


def test_regret_is_that_of_the_same_study() -> None:
    report = told(Synthetic())

    study = dtr.simulate(Synthetic(), [dtr.DTRBandit(q=2, delta=0.2)], horizon=400, paths=2, seed=0)

    assert report.regret == pytest.approx(study.summary().policies[0].mean)
    assert np.isnan(report.regret_low)
    assert report.spread.path_5 <= report.regret <= report.spread.path_95
    assert "(too few paths for an interval), median" in str(report)


def test_with_a_q_as_large_as_asked_the_bound_is_a_promise() -> None:
    report = theory.report(Quiet(), q=50_000, delta=0.3, horizon=100, paths=2, units=4000)
    assert report.constants is not None
    assert report.bound is not None

    assert fails(report) == {}
    assert report.promised
    assert report.regret <= theory.worst_regret(report.constants, 100) <= report.bound
    assert "Bound of Theorem 1:" in str(report)
    # C̃₁ has its floor, 16(log 2 + 2)x²_max / φ₂; what the theorem leaves out asks for more
    assert theory.smallest_q(report.constants) < theory.smallest_q_as_proved(report.constants) <= 50_000
    assert "the proof needs q ≥" in str(report)


def test_a_q_that_the_theorem_allows_and_its_proof_does_not_is_no_promise() -> None:
    report = theory.report(Quiet(), q=200, delta=0.3, horizon=100, paths=2, units=4000)
    assert report.constants is not None

    assert theory.smallest_q(report.constants) <= 200 < theory.smallest_q_as_proved(report.constants)
    assert list(fails(report)) == ["C̃₁ ∨ C̃₂"]
    assert not report.promised


def test_with_delays_the_bound_is_no_promise_since_the_theorem_has_an_order_only() -> None:
    arrivals = ArrivalProcess(response=Exponential(5.0))

    report = theory.report(Quiet(), q=50_000, delta=0.3, arrivals=arrivals, horizon=100, paths=2, units=4000)

    assert fails(report) == {}
    assert not report.promised
    assert "Formula of Theorem 1, no promise here" in str(report)


def test_a_delta_beyond_every_gap_fails_and_the_best_one_is_shown_instead() -> None:
    report = told(Synthetic(), delta=10.0)

    assert "at stage second with Δ = 10 no history has arms 1, 2 best by Δ" in fails(report)["diversity"]
    assert report.instance.constants is None
    assert report.constants is report.best.constants
    assert "no promise here, with Δ = 0." in str(report)


def test_log_normal_delays_are_not_covered_and_exponential_ones_are() -> None:
    heavy = told(Synthetic(), arrivals=ArrivalProcess(response=LogNormal(5.0, 1.0)))
    light = told(Synthetic(), arrivals=ArrivalProcess(response=Exponential(5.0)))

    assert "not sub-exponential" in fails(heavy)["delay"]
    assert heavy.delay_cost is None
    assert "delay" not in fails(light)
    assert light.delay_cost is not None
    assert light.delay_cost > 0
    assert "Delay adds" in str(light)
