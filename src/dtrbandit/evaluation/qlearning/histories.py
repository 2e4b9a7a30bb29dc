"""Histories to draw a rule over: those of units, and others that differ from a typical one in an entry or two.

An *entry* of a history is a column, or the arm of an earlier stage. Entries matter by how far they move the
differences between arms: by how much these change for the units, on average, if the entry were typical for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.feasibility import feasible_at, nodes_of
from dtrbandit.kernels.arrays import Mask, Matrix, Vector

Numbers = NDArray[np.int64]

FEW = 8  # different values, each of which is a grid point
STEPS = 81  # from the smallest to the largest of many values
NOTHING = 1e-9  # of the largest Q̂, a difference is none


class Histories(NamedTuple):
    """Histories before stage ``m``, (n,) for each entry: columns, and earlier arms, by number under their stage."""

    design: Design
    m: int
    columns: Mapping[str, Vector]
    arms: Mapping[str, Numbers]
    size: int

    @property
    def names(self) -> tuple[str, ...]:
        """The entries."""
        return (*self.columns, *self.arms)

    def entry(self, name: str) -> Vector:
        """Return an entry, (n,)."""
        return self.columns[name] if name in self.columns else self.arms[name].astype(np.float64)

    @property
    def features(self) -> Matrix:
        """ψ_m, (n, d_m)."""
        return self.design.parsed[self.m].features.matrix(self.columns, self.arms, self.size)

    @property
    def feasible(self) -> Mask:
        """Which arms are feasible, (n, K_m); none after arms that are in no plan."""
        tree, given = self.design.tree, np.zeros((self.size, self.m), dtype=np.int64)
        for k, stage in enumerate(self.design.stages[: self.m]):
            given[:, k] = self.arms[stage.name]
        return feasible_at(tree, nodes_of(tree, given)[:, self.m], self.design.arm_counts[self.m])

    def having(self, entries: Mapping[str, Vector]) -> Histories:
        """Return the histories with other entries."""
        columns = {name: entries.get(name, values) for name, values in self.columns.items()}
        arms = {name: entries[name].astype(np.int64) if name in entries else own for name, own in self.arms.items()}
        return self._replace(columns=columns, arms=arms)


class Axis(NamedTuple):
    """An entry to draw over: a grid of its values, (G,), and a label for each if there are few."""

    name: str
    grid: Vector
    labels: tuple[str, ...]


def histories_of(cohort: Cohort, m: int) -> tuple[Histories, Numbers]:
    """Return the histories of the units that had a choice at stage ``m``, and which units these are."""
    units = np.flatnonzero(cohort.entered[:, m] & (cohort.feasible[m].sum(axis=1) > 1))
    columns = {name: values[units] for context in cohort.contexts[: m + 1] for name, values in context.items()}
    stages = cohort.design.stages[:m]
    arms = {stage.name: cohort.arms[units, k].astype(np.int64) for k, stage in enumerate(stages)}
    return Histories(cohort.design, m, columns, arms, len(units)), units


def typical(histories: Histories) -> dict[str, float]:
    """Return an entry for each: the median, or the most common of few values; of earlier arms the most common plan."""
    found = {name: _middle(values) for name, values in histories.columns.items()}
    plans = Counter(zip(*(own.tolist() for own in histories.arms.values()), strict=True))
    if plans:
        found |= dict(zip(histories.arms, map(float, plans.most_common(1)[0][0]), strict=True))
    return found


def _middle(values: Vector) -> float:
    different, counts = np.unique(values, return_counts=True)
    return float(different[counts.argmax()] if len(different) <= FEW else np.median(values))


def matters(histories: Histories, coefficients: Matrix, weights: Vector) -> dict[str, float]:
    """Return by how much entries move the differences between feasible arms, in units of the outcome, most first.

    Those that do not move them are left out.
    """
    feasible, usual = histories.feasible, typical(histories)
    present = _differences(histories.features, coefficients, feasible)
    found = {}
    for name in histories.names:
        without = histories.having({name: np.full(histories.size, usual[name])})
        moved = present - _differences(without.features, coefficients, feasible)
        found[name] = float(np.sqrt(np.average((moved**2).sum(axis=1), weights=weights)))
    least = NOTHING * float(np.abs(histories.features @ coefficients.T).max(initial=0.0))
    return {name: found[name] for name in sorted(found, key=lambda name: -found[name]) if found[name] > least}


def _differences(features: Matrix, coefficients: Matrix, feasible: Mask) -> Matrix:
    """Return Q̂ less its mean over the feasible arms, (n, K), 0 for others."""
    q = np.where(feasible, features @ coefficients.T, 0.0)
    return np.where(feasible, q - q.sum(axis=1, keepdims=True) / feasible.sum(axis=1, keepdims=True), 0.0)


def chosen_entries(
    histories: Histories, coefficients: Matrix, weights: Vector, over: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the one or two entries that were asked for, else those that matter most; none if none matters."""
    if over is None:
        return tuple(matters(histories, coefficients, weights))[:2]
    names = (over,) if isinstance(over, str) else tuple(over)
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names) or not set(names) <= set(histories.names):
        known = ", ".join(map(repr, histories.names)) or "none"
        raise DesignError(f"over must be one or two of {known}; found {shown(over)}")
    return names


def axis_of(histories: Histories, name: str) -> Axis:
    """Return the grid of an entry: its values if there are few, else steps from the smallest to the largest."""
    values = np.unique(histories.entry(name))
    if name in histories.arms:
        stage = next(stage for stage in histories.design.stages if stage.name == name)
        return Axis(name, values, tuple(stage.arms[int(arm)] for arm in values))
    if len(values) <= FEW:
        return Axis(name, values, tuple(f"{value:.6g}" for value in values))
    return Axis(name, np.linspace(values[0], values[-1], STEPS), ())


def around(histories: Histories, axes: Sequence[Axis]) -> Histories:
    """Return histories at every combination of the axes' grid points, the first axis fastest, else typical."""
    grids = [each.ravel() for each in np.meshgrid(*(axis.grid for axis in axes[::-1]), indexing="ij")][::-1]
    count = len(grids[0]) if grids else 1
    entries = {name: np.full(count, value) for name, value in typical(histories).items()}
    return histories._replace(size=count).having(entries | dict(zip([axis.name for axis in axes], grids, strict=True)))


def describe_typical(histories: Histories, names: Sequence[str]) -> str:
    """Return entries of the typical history in words, such as ``age 31, first ssri``."""
    usual, words = typical(histories), []
    for name in names:
        stage = next((stage for stage in histories.design.stages if stage.name == name), None)
        arm = stage is not None and name in histories.arms
        words.append(f"{name} {stage.arms[int(usual[name])] if stage and arm else f'{usual[name]:.4g}'}")
    return ", ".join(words)
