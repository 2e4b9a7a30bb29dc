"""A contrast: the two regimes whose difference is looked at, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.words import counted

Contrast = Mapping[str, FixedRegime] | Sequence[FixedRegime | str]


def regimes_of(contrast: object, design: Design) -> dict[str, FixedRegime]:
    """Return the two regimes of a contrast by name."""
    if isinstance(contrast, Mapping):
        regimes = dict(contrast)
    elif isinstance(contrast, Sequence) and not isinstance(contrast, str):
        regimes = {_name(each, k): _regime(each, design) for k, each in enumerate(contrast)}
    else:
        regimes = {}
    if len(regimes) != 2 or not all(isinstance(each, FixedRegime) for each in regimes.values()):
        raise DesignError(
            "contrast must be two different FixedRegimes, as a pair or by name, {'name': FixedRegime(...)}; or at one "
            f"stage two of its arms, ('a', 'b'); found {shown(contrast)}"
        )
    return {str(name): regime for name, regime in regimes.items()}


def _name(each: object, k: int) -> str:
    """Return an arm's label, or the arms that a regime gives to everybody."""
    if isinstance(each, FixedRegime) and isinstance(each.rule, Mapping):
        arms = list(each.rule.values())
        if all(isinstance(arm, str) for arm in arms):
            return ", then ".join(map(str, arms))
    return each if isinstance(each, str) else ("the first regime", "the second regime")[min(k, 1)]


def _regime(each: object, design: Design) -> object:
    """Return the regime that gives everybody an arm of the only stage, for its label."""
    if not isinstance(each, str):
        return each
    (stage, *more) = design.stages
    if more or each not in stage.arms:
        arms = "" if more else f" {', '.join(map(repr, stage.arms))}"
        raise DesignError(
            f"contrast: an arm alone is a regime where there is one stage, and it must be one of its arms{arms}; found "
            f"{shown(each)} for {counted(len(design.stages), 'stage')}. Give two FixedRegimes"
        )
    return FixedRegime(rule={stage.name: each})
