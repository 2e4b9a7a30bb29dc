"""Check a frame against the design; everything that is wrong is listed at once, by rows.

Each unit is followed from stage to stage. Every unit has reached the first stage. A unit with an outcome has reached
each stage that ``enter_if`` lets it enter. A unit without an outcome has reached the stages up to its last arm.

A unit that lacks a covariate of a stage it has reached is wrong, too, or is left out: ``missing`` says which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import ObservationError
from dtrbandit.evaluation.cohort.feasibility import NotExcluded, feasible_at
from dtrbandit.evaluation.cohort.frames import (
    NO_ARM,
    UNKNOWN_ARM,
    LeftOut,
    Missing,
    Roles,
    arm_numbers,
    infinite,
    numbers,
    read_exclusions,
    require_columns,
    texts,
)
from dtrbandit.kernels.arrays import Mask, Vector

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED = 5  # rows, or values, in a message
FRAME_DOES_NOT_FIT = "the frame does not fit the design (rows are counted from 1, without the header)"


class Reading(NamedTuple):
    """What a frame says of the units that a cohort keeps.

    ``rows`` tells which rows of the frame they are, (rows of the frame,); the others were left out.
    """

    units: tuple[str, ...]
    contexts: tuple[Mapping[str, Vector], ...]
    arms: NDArray[np.int8]
    outcome: Vector
    weights: Vector
    rows: Mask
    left_out: LeftOut
    excluded: tuple[Mask, ...] | None


class UnitData(NamedTuple):
    """What data say of n units: each column's values and which cells are no numbers, arms (n, M), who has an outcome.

    ``arm_columns`` are the names of the columns of arms.
    """

    columns: Mapping[str, tuple[Vector, Mask]]
    arms: NDArray[np.int64]
    ended: Mask
    arm_columns: Sequence[str]


class Problems:
    """What is wrong with data, by rows; all of it stands in one error."""

    def __init__(self, heading: str) -> None:
        self._heading, self._found = heading, list[str]()

    def note(self, rows: Mask, what: str) -> None:
        """Note what is wrong, if it is wrong in any row."""
        if rows.any():
            self._found.append(f"{what}: {in_rows(rows)}")

    def refuse(self) -> None:
        """Raise with all that is wrong, if anything is."""
        if self._found:
            raise ObservationError("\n  ".join([f"{self._heading}:", *self._found]))


@dataclass
class FrameReader:
    """Reads a frame in the design's terms, and collects what is wrong with it."""

    design: Design
    frame: pd.DataFrame
    roles: Roles
    missing: Missing = "refuse"
    problems: Problems = field(default_factory=lambda: Problems(FRAME_DOES_NOT_FIT))

    def read(self) -> Reading:
        """Return what the frame holds, or raise with all that is wrong."""
        require_columns(self.frame, self.design, self.roles)
        units, weights = self._units(), self._weights()
        outcome, refused = self._numbers(self.roles.outcome)
        read = {name: self._covariate(name) for columns in self.design.columns for name in columns}
        data = UnitData(read, self._given(), ~np.isnan(outcome) | refused, self.roles.arms)
        follow_up = FollowUp(self.design, data, self.problems, left=self._left(), missing=self.missing)
        self.problems.refuse()
        kept, left_out = ~follow_up.left_out, self._left_out(follow_up, units)
        contexts = tuple({name: read[name][0][kept] for name in columns} for columns in self.design.columns)
        excluded = tuple(each[kept] for each in follow_up.excluded) if self.roles.exclude else None
        return Reading(
            tuple(compress(units, kept)), contexts, follow_up.arms[kept], outcome[kept], weights[kept], kept, left_out,
            excluded,
        )  # fmt: skip

    def _left(self) -> NotExcluded:
        """Return what contraindications leave to each unit."""
        masks, wrong = read_exclusions(self.frame, self.design, self.roles.exclude)
        for column, rows in wrong.items():
            self._note(rows, f"column {column!r} must say by 0 or 1 whether an arm is contraindicated")
        left = NotExcluded(self.design, masks)
        self._note(left.nothing, "exclude leaves no plan of the design; such units cannot have been in the trial")
        return left

    def _note(self, rows: Mask, what: str) -> None:
        self.problems.note(rows, what)

    def _left_out(self, follow_up: FollowUp, units: Sequence[str]) -> LeftOut:
        columns = {name: int(lacking.sum()) for name, lacking in follow_up.lacking.items() if lacking.any()}
        if follow_up.left_out.all():
            raise ObservationError(
                f"each of the {len(units):,} units lacks a covariate that it needs, so that missing='drop' leaves "
                f"nobody; blank are {columns}; fill them in, or take columns out of the design"
            )
        return LeftOut(tuple(compress(units, follow_up.left_out)), columns)

    def _covariate(self, name: str) -> tuple[Vector, Mask]:
        """Return a column of a context; where blanks are left out, an infinite cell is as good as a blank."""
        values, refused = numbers(self.frame[name])
        if self.missing == "drop":
            refused &= ~infinite(self.frame[name])
        return self._checked(name, values, refused)

    def _numbers(self, name: str) -> tuple[Vector, Mask]:
        return self._checked(name, *numbers(self.frame[name]))

    def _checked(self, name: str, values: Vector, refused: Mask) -> tuple[Vector, Mask]:
        found = _some(map(_cell, self.frame[name][refused]))
        self._note(refused, f"column {name!r} must hold finite numbers up to 1e100 in size, or blanks, found {found}")
        return values, refused

    def _units(self) -> tuple[str, ...]:
        if self.roles.unit is None:
            return tuple(str(row) for row in range(1, len(self.frame) + 1))
        ids = texts(self.frame[self.roles.unit])
        usable = np.array([0 < len(each) <= 200 and each.isprintable() for each in ids], dtype=np.bool_)
        self._note(~usable, f"column {self.roles.unit!r} must name each unit in 1 to 200 printable characters")
        count = Counter(ids)
        twice = np.array([count[each] > 1 for each in ids], dtype=np.bool_) & usable
        found = _some(repr(each) for each in count if count[each] > 1)
        self._note(twice, f"column {self.roles.unit!r} must name each unit once, found {found} again; one row a unit")
        return tuple(ids)

    def _weights(self) -> Vector:
        if self.roles.weights is None:
            return np.ones(len(self.frame))
        weights, refused = self._numbers(self.roles.weights)
        low = ~refused & ~(weights > 0)
        self._note(low, f"column {self.roles.weights!r} must hold weights above 0; leave out who stands for nobody")
        return weights

    def _given(self) -> NDArray[np.int64]:
        """Return the arms as the frame has them, (n, M)."""
        given = np.empty((len(self.frame), len(self.design.stages)), dtype=np.int64)
        for m, (name, stage) in enumerate(zip(self.roles.arms, self.design.stages, strict=True)):
            given[:, m] = arm_numbers(self.frame[name], stage, self.roles.recode.get(name, {}))
            unknown = given[:, m] == UNKNOWN_ARM
            found = list(map(_cell, self.frame[name][unknown]))
            self._note(
                unknown,
                f"column {name!r} must hold arms of stage {stage.name!r}, {list(stage.arms)}, or blanks, found "
                f"{_some(found)}; say which arm each means, {_recoding(name, found)}",
            )
        return given


class FollowUp:
    """Follows units through the stages, from the first to the last.

    Attributes
    ----------
    arms
        (n, M), the arms as the design has them: a blank where only one was feasible is filled in.
    node
        Where in the design's tree each unit is.
    present
        Who may be at the next stage, as far as the frame can tell.
    lacking
        By column, who needs it and has none, and is left out for it; nobody unless ``missing="drop"``.
    """

    def __init__(
        self,
        design: Design,
        data: UnitData,
        problems: Problems,
        *,
        left: NotExcluded,
        missing: Missing = "refuse",
    ) -> None:
        self.design, self.given, self.left = design, data.arms, left
        self._data, self._problems, self._missing = data, problems, missing
        n = len(data.arms)
        self.excluded: list[Mask] = []
        self.arms = np.full(data.arms.shape, NO_ARM, dtype=np.int8)
        self.node = np.zeros(n, dtype=np.int64)
        self.present = np.ones(n, dtype=np.bool_)
        self.lacking = {column: np.zeros(n, dtype=np.bool_) for column in data.columns}
        self.left_out = np.zeros(n, dtype=np.bool_)
        for m in range(len(design.stages)):
            self._follow(m)

    def _follow(self, m: int) -> None:
        """Take the units through stage ``m``, and note what cannot be."""
        reached = self.present & (self._data.ended | (self.given[:, m:] != NO_ARM).any(axis=1) | (m == 0))
        self.present = self._entered(m, reached)
        reached &= self.present
        known = self.design.parsed[m].condition
        for column in self.design.columns[m]:
            if known is None or column not in known.columns:
                self._require(m, column, reached)
        self._receive(m, reached)

    def _entered(self, m: int, reached: Mask) -> Mask:
        """Return who enters; those whom enter_if keeps out must have no arm from here on."""
        condition = self.design.parsed[m].condition
        if condition is None:
            return self.present
        for column in condition.columns:
            if column in self.design.columns[m]:
                self._require(m, column, reached)
        columns = {column: self._data.columns[column][0] for column in condition.columns}
        known = self.present & np.all([np.isfinite(values) for values in columns.values()], axis=0)
        enters: Mask = known & condition.mask(columns)
        stage = self.design.stages[m]
        self._note(
            known & ~enters & (self.given[:, m:] != NO_ARM).any(axis=1),
            f"units without {stage.enter_if!r} leave before stage {stage.name!r}, and must have no arm there or later "
            f"in {_some(map(repr, self._data.arm_columns[m:]))}; blank it, or change enter_if",
        )
        return enters

    def _require(self, m: int, column: str, reached: Mask) -> None:
        values, refused = self._data.columns[column]
        blank = reached & np.isnan(values) & ~refused
        if self._missing == "drop":
            self.lacking[column] |= blank
            self.left_out |= blank
        self._note(
            blank,
            f"column {column!r} is blank, and stage {self.design.stages[m].name!r} needs it of every unit known to "
            "have reached it (by an outcome, or an arm there or later); fill it in, or leave such units out by "
            "missing='drop' or --missing drop",
        )

    def _note(self, rows: Mask, what: str) -> None:
        """Note what cannot be, of units that are not left out: these are followed only to count their blanks."""
        self._problems.note(rows & ~self.left_out, what)

    def _receive(self, m: int, reached: Mask) -> None:
        """Give the units that reached stage ``m`` their arms."""
        tree, arms = self.design.tree, len(self.design.stages[m].arms)
        allowed, feasible = feasible_at(tree, self.node, arms), self.left.at(self.node)[:, :arms]
        self.excluded.append(allowed & ~feasible)
        arm = np.where(
            (self.given[:, m] == NO_ARM) & (feasible.sum(axis=1) == 1), feasible.argmax(axis=1), self.given[:, m]
        )
        self._require_arm(m, reached & (arm == NO_ARM))
        infeasible = reached & (arm >= 0)
        infeasible &= ~feasible[np.arange(len(arm)), np.maximum(arm, 0)]
        barred = infeasible & allowed[np.arange(len(arm)), np.maximum(arm, 0)]
        self._note(
            barred,
            f"column {self._data.arm_columns[m]!r} has an arm that is contraindicated for the unit, or after which "
            "none is left (exclude); mend the arm, or the column that excludes it",
        )
        wrong = infeasible & ~self.left_out & ~barred
        for node in np.unique(self.node[wrong]):
            self._refuse(m, wrong & (self.node == node), int(node))
        self.present = reached & (arm >= 0) & ~infeasible
        self.arms[self.present, m] = arm[self.present]
        self.node[self.present] = tree.child[self.node[self.present], arm[self.present]]

    def _require_arm(self, m: int, rows: Mask) -> None:
        why, remedy = (
            "by an outcome, or an arm later",
            "(of drop-outs) blank what came later, or (of early leavers) say so by enter_if",
        )
        if m == 0:
            why, remedy = "every unit", "leave out who was never given one"
        self._note(
            rows,
            f"column {self._data.arm_columns[m]!r} is blank, and several arms are feasible for units known to have "
            f"reached stage {self.design.stages[m].name!r} ({why}); fill it in, or {remedy}",
        )

    def _refuse(self, m: int, rows: Mask, node: int) -> None:
        path, stage = self.design.tree.arms_to[node], self.design.stages[m]
        before = [each.arms[arm] for each, arm in zip(self.design.stages, path, strict=False)]
        allowed = [arm for arm, yes in zip(stage.arms, self.design.tree.feasible[node], strict=True) if yes]
        found = sorted({stage.arms[arm] for arm in self.given[rows, m]})
        self._note(
            rows,
            f"stage {stage.name!r} has {found} after {before}, which is in no plan of the design (feasible: {allowed})"
            "; add the plan, or mend the arm",
        )


def _cell(cell: object) -> str:
    return shown(cell.item() if isinstance(cell, np.generic) else cell)


def _recoding(column: str, found: Sequence[str]) -> str:
    """Return how to recode cells, in Python and on the command line; the reader says which arm each means."""
    cells = list(dict.fromkeys(found))[:MOST_NAMED]
    python = ", ".join(f"{cell}: ..." for cell in cells)
    command = ", ".join(f"{cell.strip(chr(39))}=..." for cell in cells)
    return f"recode={{{column!r}: {{{python}}}}} or --recode '{column}: {command}'"


def _some(values: Iterable[str]) -> str:
    """Return the first few of the different texts."""
    each = list(dict.fromkeys(values))
    more = f" and {len(each) - MOST_NAMED:,} more" if len(each) > MOST_NAMED else ""
    return ", ".join(each[:MOST_NAMED]) + more


def in_rows(rows: Mask) -> str:
    """Return the rows as a person counts them, the first few."""
    numbered = np.flatnonzero(rows) + 1
    return f"row{'s' if len(numbered) > 1 else ''} " + _some(map(str, numbered))
