"""Roles: which columns of a frame hold what, and whether the frame has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.design.values import nearest, shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.exclusions import strange_exclusions
from dtrbandit.evaluation.cohort.frames import Recode

if TYPE_CHECKING:
    import pandas as pd


class Roles(NamedTuple):
    """Which columns of a frame hold what, beside the contexts, whose columns the design names."""

    arms: Sequence[str]
    outcome: str
    unit: str | None
    weights: str | None
    recode: Mapping[str, Recode]
    exclude: Mapping[str, Mapping[str, str]] = {}  # by stage and arm


def require_columns(frame: pd.DataFrame, design: Design, roles: Roles) -> None:
    """Refuse roles that do not fit the design, and columns that the frame does not have, or has twice."""
    if isinstance(roles.arms, str) or not isinstance(roles.arms, Sequence) or len(roles.arms) != len(design.stages):
        names = [stage.name for stage in design.stages]
        raise DesignError(f"arms must list one column for each of the stages {names}, found {shown(roles.arms)}")
    named = [*roles.arms, roles.outcome, *(name for name in (roles.unit, roles.weights) if name is not None)]
    if strange := [name for name in named if not isinstance(name, str)]:
        raise DesignError(f"columns are called by a text, found {shown(strange)}")
    wrong = [*_strange_recodes(design, roles), *strange_exclusions(design, roles.exclude)]
    if not wrong:
        named += [column for columns in roles.exclude.values() for column in columns.values()]
    if len(set(roles.arms)) < len(roles.arms):
        wrong.append(f"arms must name a column for each stage, found {list(roles.arms)}")
    contexts = [name for columns in design.columns for name in columns]
    if roles.outcome in (*contexts, *roles.arms, roles.weights):
        wrong.append(f"outcome={roles.outcome!r} is also a column of the design, of arms or of weights; it comes last")
    needed = dict.fromkeys([*contexts, *named])
    columns = list(frame.columns)
    if missing := [name for name in needed if name not in columns]:
        names = [name for name in columns if isinstance(name, str)]
        meant = {name: nearest(name, (other for other in names if other not in needed)) for name in missing}
        near = ", ".join(f"{other!r} for {name!r}" for name, other in meant.items() if other)
        wrong.append(f"the frame lacks {missing}; it has {shown(columns)}{f'; did you mean {near}?' if near else ''}")
    if twice := [name for name in needed if columns.count(name) > 1]:
        wrong.append(f"the frame has more than one column {twice}; rename or drop one")
    if not wrong and not len(frame):
        wrong.append("the frame has no rows; a cohort needs at least one unit")
    if wrong:
        raise DesignError("; ".join(wrong))


def _strange_recodes(design: Design, roles: Roles) -> list[str]:
    if not isinstance(roles.recode, Mapping):
        return [f"recode must map columns of arms to what their cells mean, found {shown(roles.recode)}"]
    stages, wrong = dict(zip(roles.arms, design.stages, strict=True)), []
    for name, recode in roles.recode.items():
        if name not in stages:
            wrong.append(f"recode is for the columns of arms, {list(roles.arms)}, found {shown(name)}")
        elif not isinstance(recode, Mapping):
            wrong.append(f"recode[{name!r}] must map cells to arms, found {shown(recode)}")
        elif strange := [label for label in recode.values() if label is not None and label not in stages[name].arms]:
            allowed = f"{list(stages[name].arms)}, or to None for no arm (with --recode, nothing behind '=')"
            wrong.append(f"recode[{name!r}] must lead to {allowed}; found {shown(strange)}")
    return wrong
