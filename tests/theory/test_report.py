"""Each assumption that fails is named, in words."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import (
    ArrivalProcess,
    Exponential,
    Linear,
    LogNormal,
    OneStage,
    Synthetic,
)
from dtrbandit.environments.potential_outcomes import Environment
from theory.cases import Curved, Leaving, Quiet


def short_report(
    environment: Environment, *, q: int = 2, delta: float = 0.2, arrivals: ArrivalProcess | None = None
) -> theory.Report:
    return theory.report(environment, q=q, delta=delta, arrivals=arrivals, horizon=400, paths=2, units=8000)


def fails(report: theory.Report) -> dict[str, str]:
    """Return what fails, with the words."""
    return {finding.subject: finding.words for finding in report.findings if finding.verdict == "fails"}


def test_one_stage_is_not_said_to_be_an_extension() -> None:
    report = short_report(Linear(stages=1), delta=0.3)

    assert fails(report) == {}
    assert not report.promised
    assert "one stage with 2 arms: the bandit that section 4 embeds" in str(report)


def test_unbounded_features_and_arms_that_are_alike_are_named() -> None:
    found = fails(short_report(OneStage(second_arms=2), delta=0.3))

    assert "features look unbounded" in found["bounded features"]
    assert "at stage stage2 with Δ = 0.3 no history has arms 1, 2 best by Δ" in found["diversity"]


def test_curved_q_functions_are_named() -> None:
    found = fails(short_report(Curved()))

    assert "at stage first Q is off its best linear fit" in found["linear Q"]


def test_infeasible_plans_are_covered_by_no_theorem_and_leavers_are_left_out() -> None:
    report = short_report(Leaving(), delta=0.3)

    assert "3 of 4 plans are feasible" in fails(report)["scope"]
    assert "units may leave early" in str(report)
    assert report.instance.linear
    assert report.instance.evidence.visits[1].reached.mean() == pytest.approx(0.75, abs=0.02)  # P(z > −½)


def test_stages_with_their_own_alpha_are_told_about_m() -> None:
    report = short_report(Linear(margin=(0.5, 6.0)), delta=0.3)

    notes = {finding.subject: finding.words for finding in report.findings if finding.verdict == "note"}

    assert "takes the smaller α" in notes["M"]
    assert "each stage's own" in notes["M"]
    assert report.bound_as_proved != report.bound


def test_more_arms_have_no_constants_and_more_stages_no_theorem() -> None:
    arms, stages = short_report(Linear(arms=3, suboptimal=1), delta=0.3), short_report(Linear(stages=3), delta=0.3)

    assert fails(arms) == {}
    assert "arm 1 is worse by Δ everywhere" in str(arms)
    assert "proves nothing" in fails(stages)["scope"]
    for report in (arms, stages):
        assert report.bound is report.ratio is None
        assert not report.promised
        assert "no bound with constants" in str(report)


def test_on_section_5_2_everything_holds_but_the_size_of_q() -> None:
    report = short_report(Synthetic())
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
    assert "the formula tells nothing here; it is informative (below what any policy can lose) from T ≈" in str(report)
    assert "have no density" in str(report)  # lemma "alpha is one"


def test_regret_is_that_of_the_same_study() -> None:
    report = short_report(Synthetic())

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
    report = short_report(Synthetic(), delta=10.0)

    assert "at stage second with Δ = 10 no history has arms 1, 2 best by Δ" in fails(report)["diversity"]
    assert report.instance.constants is None
    assert report.constants is report.best.constants
    assert "no promise here, with Δ = 0." in str(report)


def test_log_normal_delays_are_not_covered_and_exponential_ones_are() -> None:
    heavy = short_report(Synthetic(), arrivals=ArrivalProcess(response=LogNormal(5.0, 1.0)))
    light = short_report(Synthetic(), arrivals=ArrivalProcess(response=Exponential(5.0)))

    assert "not sub-exponential" in fails(heavy)["delay"]
    assert heavy.delay_cost is None
    assert "delay" not in fails(light)
    assert light.delay_cost is not None
    assert light.delay_cost > 0
    assert "Delay adds" in str(light)
