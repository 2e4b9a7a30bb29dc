"""A stage: its arms, and the features that describe a unit that arrives; as written, and as parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from dtrbandit.design.condition import Condition, parse_condition
from dtrbandit.design.features import FeatureFunction, FeatureMap, computed_features
from dtrbandit.design.formula import Formula, parse_formula
from dtrbandit.design.identity import describe, identity
from dtrbandit.design.values import label, labels, positive, require_keys, shown
from dtrbandit.errors import DesignError

MOST_ARMS = 64
OPTIONAL = ("columns", "enter_if", "expected_days")


@dataclass(frozen=True)
class Stage:
    """One stage of a design (paper, section 2.1).

    Parameters
    ----------
    name
        What people call the stage; ``C(name)`` in the formula of a later stage.
    arms
        The labels of the arms.
    features
        The features ψ as a formula, or a function from a mapping of arrays to an (n, d) array.
    columns
        With a function: the columns that it adds to the context. With a formula: further columns to record.
    enter_if
        The condition under which a unit enters; the others leave early, with their outcome.
    expected_days
        The days usually needed until the response, for planning only.

    Examples
    --------
    >>> Stage("second", arms=("ssri", "other"), features="1 + qids_start2", enter_if="qids_end1 > 5").arms
    ('ssri', 'other')
    """

    name: str
    arms: tuple[str, ...]
    features: str | FeatureFunction
    columns: tuple[str, ...] | None = field(default=None, kw_only=True)
    enter_if: str | None = field(default=None, kw_only=True)
    expected_days: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", label(self.name, "a stage's name"))
        where = f"stage {self.name!r}"
        object.__setattr__(self, "arms", labels(self.arms, f"{where}: arms", most=MOST_ARMS))
        if self.columns is not None:
            object.__setattr__(self, "columns", labels(self.columns, f"{where}: columns", least=0))
        if callable(self.features) and self.columns is None:
            raise DesignError(f"{where}: features given as a function need columns=, the columns it reads")
        if not callable(self.features) and not isinstance(self.features, str):
            raise DesignError(f"{where}: features must be a formula or a function, found {shown(self.features)}")
        if self.expected_days is not None:
            object.__setattr__(self, "expected_days", positive(self.expected_days, f"{where}: expected_days"))

    def to_dict(self) -> dict[str, object]:
        """Return the stage as plain values; a feature function is given by its name and what identifies it."""
        formula = self.features
        known = formula if isinstance(formula, str) else {"function": describe(formula), "identity": identity(formula)}
        entries = {
            "name": self.name,
            "arms": list(self.arms),
            "features": known,
            "columns": None if self.columns is None else list(self.columns),
            "enter_if": self.enter_if,
            "expected_days": self.expected_days,
        }
        return {key: entry for key, entry in entries.items() if entry is not None}

    @classmethod
    def from_dict(cls, entries: Mapping[str, object], *, number: int) -> Stage:
        """Return the stage that ``to_dict`` describes; ``number``, from 1, is for messages."""
        where = f"stage {number}"
        require_keys(entries, required=("name", "arms", "features"), optional=OPTIONAL, where=where)
        if isinstance(entries["features"], Mapping):
            raise DesignError(
                f"{where}: its features were a Python function ({shown(entries['features'].get('function'))}); "
                "pass the design itself as design="
            )
        return cls(**entries)  # type: ignore[arg-type]  # checked by __post_init__


# -- as parsed ------------------------------------------------------------------------------------------------


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
