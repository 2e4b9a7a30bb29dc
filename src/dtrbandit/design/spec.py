"""A design: stages, arms, features and feasible plans (paper, sections 2.1 and 5.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

from dtrbandit.design.feasibility import Plan, Tree, arm_labels, arm_numbers, checked_plans, grow_tree
from dtrbandit.design.stages import ParsedStage, Stage, parse_stages
from dtrbandit.design.toml_text import TomlText
from dtrbandit.design.values import is_among, require_keys, shown
from dtrbandit.errors import DesignError
from dtrbandit.words import counted

MOST_STAGES = 20


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
        numbers = checked_plans(stages, self.plans)
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "plans", tuple(arm_labels(stages, plan) for plan in numbers))
        _check_columns(self)

    def __getstate__(self) -> dict[str, object]:
        return {"stages": self.stages, "plans": self.plans}  # without what was computed: looking changes no pickle

    # -- what it compiles to ---------------------------------------------------------------------------------

    @cached_property
    def arm_plans(self) -> tuple[Plan, ...]:
        """The feasible plans as arm numbers, in lexicographic order."""
        return tuple(arm_numbers(self.stages, plan) for plan in self.plans or ())

    @cached_property
    def tree(self) -> Tree:
        """Which arms are feasible after which."""
        return grow_tree(self.arm_plans, self.arm_counts)

    @cached_property
    def parsed(self) -> tuple[ParsedStage, ...]:
        """Each stage with its features, its condition and the columns of its context."""
        return parse_stages(self.stages)

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each stage's context."""
        return tuple(stage.columns for stage in self.parsed)

    @cached_property
    def dimensions(self) -> tuple[int, ...]:
        """The number of features d_m of each stage."""
        return tuple(len(stage.features.names) for stage in self.parsed)

    @cached_property
    def arm_counts(self) -> tuple[int, ...]:
        """The number of arms K_m of each stage."""
        return tuple(len(stage.arms) for stage in self.stages)

    def stage_number(self, name: str) -> int:
        """Return the number, from 0, of the stage called ``name``."""
        names = [stage.name for stage in self.stages]
        if not is_among(name, names):
            raise DesignError(f"there is no stage {shown(name)}; the stages are {names}")
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
        """Return the design that ``to_dict`` describes."""
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
            trial = "; it is the file of a trial, for dtrbandit trial create" if "policy" in tables else ""
            raise DesignError(f"{path}: {error}{trial}") from error

    def __str__(self) -> str:
        plans = counted(len(self.arm_plans), "feasible plan")
        lines = [f"A design of {counted(len(self.stages), 'stage')} with {plans}."]
        for m in range(len(self.stages)):
            lines += ["", *self._describe_stage(m)]
        if self.every_combination:
            return "\n".join([*lines, "", "Plans: every combination of arms."])
        return "\n".join([*lines, "", "Plans:", *(f"  {', then '.join(plan)}" for plan in self.plans or ())])

    def _describe_stage(self, m: int) -> list[str]:
        stage = self.stages[m]
        condition, model = self.parsed[m].condition, " + ".join(self.parsed[m].features.names)
        lines = [f"Stage {m + 1}, {stage.name}: give {_either(stage.arms)}."]
        if condition:
            needed = ", ".join(column for column in condition.columns if column in self.columns[m]) or "nothing more"
            lines.append(
                f"  Entered if {stage.enter_if}; the others leave early, with their outcome, and need {needed}."
            )
        lines.append(f"  Observed on arrival: {', '.join(self.columns[m]) or 'nothing new'}.")
        lines.append(f"  Model for each arm: {model} ({counted(self.dimensions[m], 'coefficient')}).")
        if stage.expected_days:
            what = "response" if m + 1 < len(self.stages) else "outcome"
            lines.append(f"  The {what} is expected after {stage.expected_days:g} days.")
        return lines


def _either(arms: Sequence[str]) -> str:
    return f"{', '.join(arms[:-1])} or {arms[-1]}" if len(arms) > 1 else arms[0]


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


def _check_columns(design: Design) -> None:
    names = {stage.name for stage in design.stages}
    for stage, columns in zip(design.stages, design.columns, strict=True):
        if clash := names & set(columns):
            raise DesignError(f"stage {stage.name!r}: {sorted(clash)} cannot be both a column and a stage")
