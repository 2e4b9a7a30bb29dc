"""The stages of a design as parsed: their features and conditions, and which columns belong to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from dtrbandit.design.condition import Condition, parse_condition
from dtrbandit.design.features import FeatureMap, computed_features
from dtrbandit.design.formula import Formula, parse_formula
from dtrbandit.design.stages import Stage


class ParsedStage(NamedTuple):
    """A stage whose formula and condition have been read.

    Attributes
    ----------
    condition
        The condition of ``enter_if``; None if every unit enters.
    columns
        The columns of the stage's context.
    pieces
        Where the features are found in the packed columns, if each feature is 1 or a column; else None. The packed
        columns are a 1 and then all columns up to this stage, in order, as doubles.
    """

    features: FeatureMap
    condition: Condition | None
    columns: tuple[str, ...]
    pieces: tuple[slice, ...] | None


def parse_stages(stages: Sequence[Stage]) -> tuple[ParsedStage, ...]:
    """Return each stage as parsed. A column belongs to the first stage that names it."""
    parsed: list[ParsedStage] = []
    known: dict[str, int] = {}  # the columns so far, numbered from 1
    for m, stage in enumerate(stages):
        condition = _condition(stage, [each.name for each in stages])
        named = dict.fromkeys((*(condition.columns if condition else ()), *(stage.columns or ())))
        features = _features(stage, stages[:m], known=(*known, *named))
        named = {**dict.fromkeys(features.columns), **named}
        own = tuple(column for column in named if column not in known)
        known.update(zip(own, count(len(known) + 1)))
        parsed.append(ParsedStage(features, condition, own, _pieces(features, known)))
    return tuple(parsed)


def _features(stage: Stage, before: Sequence[Stage], *, known: tuple[str, ...]) -> FeatureMap:
    where = _where(stage, "features")
    if isinstance(stage.features, str):
        return parse_formula(stage.features, earlier={each.name: each.arms for each in before}, where=where)
    given = (*known, *(each.name for each in before))
    return computed_features(stage.features, stage.columns or (), known=given, where=where)


def _condition(stage: Stage, stages: Sequence[str]) -> Condition | None:
    if stage.enter_if is None:
        return None
    return parse_condition(stage.enter_if, where=_where(stage, "enter_if"), stages=stages)


def _pieces(features: FeatureMap, known: Mapping[str, int]) -> tuple[slice, ...] | None:
    if not isinstance(features, Formula) or not features.plain:
        return None
    pieces: list[slice] = []
    for term in features.terms:
        start = 8 * known[str(term[0])] if term else 0
        if pieces and pieces[-1].stop == start:
            start = pieces.pop().start
        pieces.append(slice(start, 8 * (known[str(term[0])] if term else 0) + 8))
    return tuple(pieces)


def _where(stage: Stage, text: str) -> str:
    return f"stage {stage.name!r}: {text}"
