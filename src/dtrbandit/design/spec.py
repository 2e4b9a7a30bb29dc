"""A design: stages, arms, features and feasible plans (paper, sections 2.1 and 5.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from math import prod
from pathlib import Path
from typing import NamedTuple

from dtrbandit.design.condition import Condition, parse_condition
from dtrbandit.design.features import FeatureMap, computed_features
from dtrbandit.design.formula import Formula, parse_formula
from dtrbandit.design.stages import Stage, require_keys
from dtrbandit.design.toml_text import TomlText
from dtrbandit.design.tree import Plan, Tree, grow_tree
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

MOST_PLANS = 10_000
MOST_STAGES = 20


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


@dataclass(frozen=True)
class Design:
    """The stages of a trial and the plans that are feasible in it.

    Parameters
    ----------
    stages
        At least one.
    plans
        The feasible plans, one arm per stage; by default every combination. Kept in lexicographic order.

    Examples
    --------
    >>> design = Design(
    ...     [Stage("first", arms=("ssri", "other"), features="1 + start1"),
    ...      Stage("second", arms=("ssri", "other"), features="1 + start2", enter_if="end1 > 5")],
    ...     plans=[("ssri", "ssri"), ("ssri", "other"), ("other", "other")])
    >>> design.columns
    (('start1',), ('start2', 'end1'))
    >>> Design.from_dict(design.to_dict()) == design
    True
    """

    stages: Sequence[Stage]
    plans: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        stages = _checked_stages(self.stages)
        numbers = _checked_plans(stages, self.plans)
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "plans", tuple(_labels(stages, plan) for plan in numbers))
        _check_columns(self)

    # -- what it compiles to ---------------------------------------------------------------------------------

    @cached_property
    def arm_plans(self) -> tuple[Plan, ...]:
        """The feasible plans as arm numbers, in lexicographic order."""
        return tuple(_numbers(self.stages, plan) for plan in self.plans or ())

    @cached_property
    def tree(self) -> Tree:
        """Which arms are feasible after which."""
        return grow_tree(self.arm_plans, tuple(len(stage.arms) for stage in self.stages))

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """What each stage needs when a unit arrives; a column belongs to the first stage that names it."""
        arrivals: list[Arrival] = []
        known: dict[str, int] = {}  # the columns so far, numbered from 1
        for m, stage in enumerate(self.stages):
            condition = _condition(stage, [each.name for each in self.stages])
            named = dict.fromkeys((*(condition.columns if condition else ()), *(stage.columns or ())))
            if isinstance(stage.features, str):
                arms = {before.name: before.arms for before in self.stages[:m]}
                features: FeatureMap = parse_formula(stage.features, earlier=arms, where=_where(stage, "features"))
            else:
                given = (*known, *named, *(before.name for before in self.stages[:m]))
                features = computed_features(
                    stage.features, stage.columns or (), known=given, where=_where(stage, "features")
                )
            named = {**dict.fromkeys(features.columns), **named}
            own = tuple(column for column in named if column not in known)
            known.update(zip(own, count(len(known) + 1)))
            arrivals.append(Arrival(features, condition, own, _pieces(features, known)))
        return tuple(arrivals)

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each stage's context."""
        return tuple(arrival.columns for arrival in self.arrivals)

    @cached_property
    def dimensions(self) -> tuple[int, ...]:
        """The number of features d_m of each stage."""
        return tuple(len(arrival.features.names) for arrival in self.arrivals)

    @cached_property
    def arm_counts(self) -> tuple[int, ...]:
        """The number of arms K_m of each stage."""
        return tuple(len(stage.arms) for stage in self.stages)

    def stage_number(self, name: str) -> int:
        """Return the number, from 0, of the stage called ``name``."""
        names = [stage.name for stage in self.stages]
        if name not in names:
            raise DesignError(f"there is no stage {name!r}; the stages are {names}")
        return names.index(name)

    @property
    def has_functions(self) -> bool:
        """Whether a stage's features are a Python function, which a log cannot hold."""
        return any(not isinstance(stage.features, str) for stage in self.stages)

    @property
    def every_combination(self) -> bool:
        """Whether every combination of arms is feasible."""
        return len(self.arm_plans) == prod(self.arm_counts)

    # -- reading and writing ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Return the design as plain values: ``plans`` (unless every combination is feasible) and ``stage``."""
        plans = {} if self.every_combination else {"plans": [list(plan) for plan in self.plans or ()]}
        return {**plans, "stage": [stage.to_dict() for stage in self.stages]}

    @classmethod
    def from_dict(cls, entries: Mapping[str, object]) -> Design:
        """Build the design that ``to_dict`` describes."""
        require_keys(entries, required=("stage",), optional=("plans",), where="design")
        stages, plans = entries["stage"], entries.get("plans")
        if not isinstance(stages, Sequence) or isinstance(stages, str):
            raise DesignError(f"design: 'stage' must be a list of tables, found {shown(stages)}")
        if plans is not None and (not isinstance(plans, Sequence) or isinstance(plans, str)):
            raise DesignError(f"design: 'plans' must be a list of plans, found {shown(plans)}")
        return cls(tuple(Stage.from_dict(stage, number=number) for number, stage in enumerate(stages, 1)), plans)

    def to_toml(self) -> str:
        """Return the design as TOML, ``plans`` before the ``[[stage]]`` tables."""
        if self.has_functions:
            raise DesignError("a design whose features are a Python function cannot be written as TOML")
        tables = [stage.to_dict() for stage in self.stages]
        plans = self.to_dict().get("plans")
        lines = [] if plans is None else [f"plans = {json.dumps(plans, ensure_ascii=False)}", ""]
        for table in tables:
            lines += [
                "[[stage]]",
                *(f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in table.items()),
                "",
            ]
        return "\n".join(lines)

    @classmethod
    def from_toml(cls, path: str | Path) -> Design:
        """Read a design from a TOML file."""
        tables = TomlText.read(Path(path), what="the design").tables
        try:
            return cls.from_dict(tables)
        except DesignError as error:
            raise DesignError(f"{path}: {error}") from error

    def __str__(self) -> str:
        plans = _count(len(self.arm_plans), "feasible plan")
        lines = [f"A design of {_count(len(self.stages), 'stage')} with {plans}."]
        for m in range(len(self.stages)):
            lines += ["", *self._stage_in_words(m)]
        if self.every_combination:
            return "\n".join([*lines, "", "Plans: every combination of arms."])
        return "\n".join([*lines, "", "Plans:", *(f"  {', then '.join(plan)}" for plan in self.plans or ())])

    def _stage_in_words(self, m: int) -> list[str]:
        stage = self.stages[m]
        condition, model = self.arrivals[m].condition, " + ".join(self.arrivals[m].features.names)
        lines = [f"Stage {m + 1}, {stage.name}: give {_either(stage.arms)}."]
        if condition:
            needed = ", ".join(column for column in condition.columns if column in self.columns[m]) or "nothing more"
            lines.append(
                f"  Entered if {stage.enter_if}; the others leave early, with their outcome, and need {needed}."
            )
        lines.append(f"  Observed on arrival: {', '.join(self.columns[m]) or 'nothing new'}.")
        lines.append(f"  Model for each arm: {model} ({_count(self.dimensions[m], 'coefficient')}).")
        if stage.expected_days:
            what = "response" if m + 1 < len(self.stages) else "outcome"
            lines.append(f"  The {what} is expected after {stage.expected_days:g} days.")
        return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _either(arms: Sequence[str]) -> str:
    return f"{', '.join(arms[:-1])} or {arms[-1]}" if len(arms) > 1 else arms[0]


def _where(stage: Stage, part: str) -> str:
    return f"stage {stage.name!r}: {part}"


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


def _condition(stage: Stage, stages: Sequence[str]) -> Condition | None:
    if stage.enter_if is None:
        return None
    return parse_condition(stage.enter_if, where=_where(stage, "enter_if"), stages=stages)


def _checked_stages(stages: object) -> tuple[Stage, ...]:
    if not isinstance(stages, Sequence) or not stages or not all(isinstance(stage, Stage) for stage in stages):
        raise DesignError(f"a design needs a list of at least one Stage, found {shown(stages)}")
    if len(stages) > MOST_STAGES:
        raise DesignError(f"a design may have {MOST_STAGES} stages, found {len(stages)}; leave some out")
    names = [stage.name for stage in stages]
    if len(set(names)) < len(names):
        raise DesignError(f"stages must have different names, found {names}")
    if stages[0].enter_if is not None:
        raise DesignError(f"stage {names[0]!r}: enter_if is for later stages (every enrolled unit enters the first)")
    return tuple(stages)


def _numbers(stages: Sequence[Stage], plan: Sequence[str]) -> Plan:
    return tuple(stage.arms.index(arm) for stage, arm in zip(stages, plan, strict=True))


def _labels(stages: Sequence[Stage], plan: Plan) -> tuple[str, ...]:
    return tuple(stage.arms[arm] for stage, arm in zip(stages, plan, strict=True))


def _checked_plans(stages: tuple[Stage, ...], plans: object) -> list[Plan]:
    if plans is None:
        if prod(len(stage.arms) for stage in stages) > MOST_PLANS:
            raise DesignError(f"a design may have {MOST_PLANS} plans; name the feasible ones with plans=")
        return list(product(*(range(len(stage.arms)) for stage in stages)))
    if isinstance(plans, str) or not isinstance(plans, Sequence) or not 0 < len(plans) <= MOST_PLANS:
        raise DesignError(f"plans must be a list of 1 to {MOST_PLANS} plans, found {shown(plans)}")
    for plan in plans:
        _check_plan(stages, plan)
    numbers = sorted({_numbers(stages, plan) for plan in plans})
    if len(numbers) < len(plans):
        raise DesignError(f"plans must all be different, found {shown([list(plan) for plan in plans])}")
    for m, stage in enumerate(stages):
        used = {plan[m] for plan in numbers}
        unused = [label for arm, label in enumerate(stage.arms) if arm not in used]
        if unused:
            raise DesignError(f"stage {stage.name!r}: no plan gives {unused}; drop these arms or add a plan")
    return numbers


def _check_plan(stages: tuple[Stage, ...], plan: object) -> None:
    if isinstance(plan, str) or not isinstance(plan, Sequence) or len(plan) != len(stages):
        raise DesignError(
            f"plan {shown(plan)} must name one arm for each of the stages {[stage.name for stage in stages]}"
        )
    for stage, arm in zip(stages, plan, strict=True):
        if arm not in stage.arms:
            raise DesignError(
                f"plan {shown(list(plan))}: unknown arm {shown(arm)} at stage {stage.name!r}, "
                f"whose arms are {list(stage.arms)}"
            )


def _check_columns(design: Design) -> None:
    names = {stage.name for stage in design.stages}
    for stage, columns in zip(design.stages, design.columns, strict=True):
        if clash := names & set(columns):
            raise DesignError(f"stage {stage.name!r}: {sorted(clash)} cannot be both a column and a stage")
