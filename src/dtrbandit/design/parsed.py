"""The stages of a design as parsed: their features and conditions, and which columns belong to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from dtrbandit.design.condition import Condition, parse_condition
from dtrbandit.design.features import FeatureMap, computed_features
from dtrbandit.design.formula import Formula, parse_formula
from dtrbandit.design.stages import Stage


class Arrival(NamedTuple):
    """What is needed when a unit arrives at a stage.

    Attributes
    ----------
    columns
        Those of the stage's context.
    pieces
        Where the features are found, if all are 1 or columns: pieces of the bytes of a 1 and of all columns up to this
        stage, packed as doubles in order. Else None.
    """

    features: FeatureMap
    condition: Condition | None
    columns: tuple[str, ...]
    pieces: tuple[slice, ...] | None


def parse_stages(stages: Sequence[Stage]) -> tuple[Arrival, ...]:
    """Return what each stage needs when a unit arrives; a column belongs to the first stage that names it."""
    arrivals: list[Arrival] = []
    known: dict[str, int] = {}  # the columns so far, numbered from 1
    for m, stage in enumerate(stages):
        condition = _condition(stage, [each.name for each in stages])
        named = dict.fromkeys((*(condition.columns if condition else ()), *(stage.columns or ())))
        features = _features(stage, stages[:m], known=(*known, *named))
        named = {**dict.fromkeys(features.columns), **named}
        own = tuple(column for column in named if column not in known)
        known.update(zip(own, count(len(known) + 1)))
        arrivals.append(Arrival(features, condition, own, _pieces(features, known)))
    return tuple(arrivals)


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
