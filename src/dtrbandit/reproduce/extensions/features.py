"""Misspecified features: too many cost a constant factor, too few cost every round (label "assumption: bounded").

What too few cost is known. Without x₁ the best that is left is one first arm for all; without x₂ it is one plan for
all. With E Beta(a, b) = a/(a + b) and a weight of mean ½, x₂ has mean 17/30 after arm 1 and 13/30 after arm 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.environments.synthetic import FIRST, OPTIMAL_VALUE, SECOND, Synthetic
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import FEWEST, Claim, Whose, judged, median
from dtrbandit.reproduce.pictures import draw_regret, panels, title
from dtrbandit.reproduce.rates import (
    LINEAR,
    doublings,
    doublings_by_setting,
    free_rounds_slower_than_root,
    grows_typically,
    logarithmic,
)
from dtrbandit.reproduce.reproduction import (
    DTRB,
    Extension,
    Regrets,
    Setting,
    Studies,
    final_regret,
    late_regret,
)
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

POLICY = DTRBandit(q=10, delta=0.5)
RIGHT, TOO_MANY, NO_FIRST, NO_SECOND = "right features", "too many", "without x1", "without x2"


def _learner(first: str, second: str) -> Design:
    stages = Synthetic().design.stages
    return Design(
        [Stage(stage.name, stage.arms, features) for stage, features in zip(stages, (first, second), strict=True)]
    )


SETTINGS = {
    RIGHT: Setting(Synthetic(), POLICY),
    TOO_MANY: Setting(Synthetic(), POLICY, design=_learner("1 + x1", "1 + x2 + x1 + C(first)")),
    NO_FIRST: Setting(Synthetic(), POLICY, design=_learner("1", "1 + x2")),
    NO_SECOND: Setting(Synthetic(), POLICY, design=_learner("1 + x1", "1 + C(first)")),
}
ONE_ARM = max(intercept + slope / 2 for intercept, slope in FIRST)  # E Q₁ of the better arm: x₁ has mean ½
ONE_PLAN = max(intercept + slope * mean for intercept, slope in SECOND for mean in (17 / 30, 13 / 30))
LOSS_WITHOUT_FIRST, LOSS_WITHOUT_SECOND = OPTIMAL_VALUE - ONE_ARM, OPTIMAL_VALUE - ONE_PLAN


def claims(studies: Studies, regrets: Regrets) -> tuple[Claim, ...]:
    """Measure what superfluous features cost, and what missing ones do; all settings meet the same units."""
    return (
        *logarithmic(
            doublings_by_setting(regrets, {TOO_MANY: SETTINGS[TOO_MANY]}),
            slower="with superfluous features regret grows slower than √T",
            consistent="Superfluous features leave the rate: {regret} is consistent with a logarithm, "
            "t^0.3 is excluded",
        ),
        free_rounds_slower_than_root(studies, {name: SETTINGS[name] for name in (RIGHT, TOO_MANY)}),
        _constant_factor(studies),
        _linear("x₁", studies, NO_FIRST),
        _linear("x₂", studies, NO_SECOND),
        _loses_what_it_must(studies[NO_FIRST]),
        _loses_one_plan(studies[NO_SECOND]),
    )


def _constant_factor(studies: Studies) -> Claim:
    found = median(final_regret(studies[TOO_MANY]) / final_regret(studies[RIGHT]))
    # Theorem 1: d (log d)^(3/2) log T + (d log d)²; from d = 2 to 4 its first term grows by 2^(5/2) = 5.7
    return Claim(
        "Superfluous features cost a constant factor (two more at the second stage, where two are right)",
        f"{found:.2f} times the regret on a typical path",
        "above 1, below 5.7 times (Theorem 1: d (log d)^(3/2) from d = 2 to 4)",
        judged(found, above=1.0, below=2**2.5),
    )


def _linear(feature: str, studies: Studies, name: str) -> Claim:
    sentence = f"Without {feature} regret is linear: no data make up for a feature that is missing"
    growth = doublings(studies[name], DTRB, block=SETTINGS[name].block)
    return grows_typically(sentence, growth, LINEAR, whose=Whose.OURS)


def _loses_what_it_must(study: Study) -> Claim:
    sentence = "Without x₁ the policy finds the best that is left, one first arm for all"
    # more by what forced rounds cost, 40 or 80 of the last 5,000 at some 0.5 each: 0.004 to 0.008 a round
    return _loses(sentence, study, LOSS_WITHOUT_FIRST, between=(0.95, 1.10))


def _loses_one_plan(study: Study) -> Claim:
    sentence = "Without x₂ the policy does as one plan for all would, or little worse: the first stage cannot learn"
    # plans are close: on some paths the second best, which costs 1.4 times as much, is never found out; 240 paths with
    # seed 1000 had 1.06 on average. Greedy has 1.24, random arms 1.60
    return _loses(sentence, study, LOSS_WITHOUT_SECOND, between=(0.97, 1.20))


def _loses(sentence: str, study: Study, must: float, *, between: tuple[float, float]) -> Claim:
    """Claim that a late round of a typical path costs what it ``must`` cost, times a factor within a band."""
    found, (low, high) = median(late_regret(study) / (study.horizon - study.horizon // 2) / must), between
    return Claim(
        sentence,
        f"a round in the second half costs {found:.3f} times {must:.4f} on a typical path",
        f"{low:.2f} to {high:.2f} times",
        judged(found, above=low, below=high),
        Whose.OURS,
    )


def draw(studies: Studies) -> Picture:
    """Draw all against t, and the two that learn against log t."""
    picture, (left, right) = panels(2)
    draw_regret(left, studies, log=False)
    title(left, "Regret with the right features, too many, and one missing")
    draw_regret(right, studies, log=True, only=(RIGHT, TOO_MANY))
    title(right, "The right features and too many, against log t")
    return picture


EXTENSION = Extension("features", SETTINGS, claims, draw, {TOO_MANY: FEWEST})
