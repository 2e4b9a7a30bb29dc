"""Each assumption that fails is named, in words."""

from __future__ import annotations

import pytest

from dtrbandit.environments import (
    Linear,
    OneStage,
)
from theory.cases import Curved, Leaving
from theory.told import fails, told


def test_one_stage_is_not_said_to_be_an_extension() -> None:
    report = told(Linear(stages=1), delta=0.3)

    assert fails(report) == {}
    assert not report.promised
    assert "one stage with 2 arms: the bandit that section 4 embeds" in str(report)


def test_unbounded_features_and_arms_that_are_alike_are_named() -> None:
    found = fails(told(OneStage(second_arms=2), delta=0.3))

    assert "features look unbounded" in found["bounded features"]
    assert "at stage stage2 with Δ = 0.3 no history has arms 1, 2 best by Δ" in found["diversity"]


def test_curved_q_functions_are_named() -> None:
    found = fails(told(Curved()))

    assert "at stage first Q is off its best linear fit" in found["linear Q"]


def test_infeasible_plans_are_covered_by_no_theorem_and_leavers_are_left_out() -> None:
    report = told(Leaving(), delta=0.3)

    assert "3 of 4 plans are feasible" in fails(report)["scope"]
    assert "units may leave early" in str(report)
    assert report.instance.linear
    assert report.instance.evidence.visits[1].reached.mean() == pytest.approx(0.75, abs=0.02)  # P(z > −½)


def test_stages_with_their_own_alpha_are_told_about_m() -> None:
    report = told(Linear(margin=(0.5, 6.0)), delta=0.3)

    notes = {finding.subject: finding.words for finding in report.findings if finding.verdict == "note"}

    assert "takes the smaller α" in notes["M"]
    assert "each stage's own" in notes["M"]
    assert report.bound_as_proved != report.bound


def test_more_arms_have_no_constants_and_more_stages_no_theorem() -> None:
    arms, stages = told(Linear(arms=3, suboptimal=1), delta=0.3), told(Linear(stages=3), delta=0.3)

    assert fails(arms) == {}
    assert "arm 1 is worse by Δ everywhere" in str(arms)
    assert "proves nothing" in fails(stages)["scope"]
    for report in (arms, stages):
        assert report.bound is report.ratio is None
        assert not report.promised
        assert "no bound with constants" in str(report)
