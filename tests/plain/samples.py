"""The rows that estimators learn from: one line per unit, by round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.record.histories import History
from plain.masks import arms_for_a_max


class Samples:
    """Features, arms and outcomes of all units: first those of an earlier trial, ``taught`` many, then round by round.

    Attributes
    ----------
    features
        For each stage, (n, d_m); NaN where the unit did not (yet) arrive.
    arm
        (n, M): the arm given, −1 where none was.
    entered
        (n, M): whether the unit entered the stage.
    feasible
        For each stage, (n, K_m): the arms feasible for the unit on arrival.
    outcome
        (n,): Y, NaN until it is known.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._lines = 0
        self.taught = 0
        self._features = [np.full((16, d), np.nan) for d in design.dimensions]
        self._feasible = [np.zeros((16, k), dtype=np.bool_) for k in design.arm_counts]
        self._arm = np.full((16, len(design.stages)), -1, dtype=np.int64)
        self._entered = np.zeros((16, len(design.stages)), dtype=np.bool_)
        self._outcome = np.full(16, np.nan)
        self._histories: dict[int, History] = {}
        self.closed: set[tuple[int, int]] = set()

    def close(self, m: int, arm: int) -> None:
        """Leave an arm out from now on, wherever another is left."""
        self.closed.add((m, arm))
        for line in self._histories:
            self._mark_feasible(line)

    def _mark_feasible(self, line: int) -> None:
        history = self._histories[line]
        for m in range(len(history.features)):
            excluded = set(history.excluded[m]) if history.excluded else set()
            given, feasible = history.arms[:m], self._feasible[m][line]
            feasible[:] = False
            feasible[list(arms_for_a_max(self._design.arm_plans, given, excluded, self.closed))] = True

    @property
    def features(self) -> list[Matrix]:
        """Per stage, (n, d_m)."""
        return [features[: self._lines] for features in self._features]

    @property
    def feasible(self) -> list[Mask]:
        """Per stage, (n, K_m)."""
        return [feasible[: self._lines] for feasible in self._feasible]

    @property
    def arm(self) -> NDArray[np.int64]:
        """The arms given, (n, M)."""
        return self._arm[: self._lines]

    @property
    def entered(self) -> Mask:
        """Whether each stage was entered, (n, M)."""
        return self._entered[: self._lines]

    @property
    def outcome(self) -> Vector:
        """The outcomes, (n,)."""
        return self._outcome[: self._lines]

    def record(self, history: History) -> None:
        """Write a unit's line anew, as its history has it now."""
        self._write(history, self.taught + history.round - 1)

    def teach(self, history: History) -> None:
        """Write a line for a unit of an earlier trial."""
        self.taught += 1
        self.tell_of_taught(history)

    def tell_of_taught(self, history: History) -> None:
        """Write the line of the last unit of an earlier trial anew."""
        self._write(history, self.taught - 1)

    def _write(self, history: History, line: int) -> None:
        self._lines = max(self._lines, line + 1)
        while self._lines > len(self._outcome):
            self._double()
        for m, features in enumerate(history.features):
            self._features[m][line] = features
        self._histories[line] = history
        self._mark_feasible(line)
        self._arm[line, : len(history.arms)] = history.arms
        dropped_out = history.round == 0 and history.outcome is None and len(history.features) > len(history.arms)
        self._entered[line, : len(history.arms) + (bool(history.feasible) or dropped_out)] = True
        self._outcome[line] = np.nan if history.outcome is None else history.outcome

    def forget(self, history: History) -> None:
        """Empty the line of a unit that is void."""
        line = self.taught + history.round - 1
        if line < self._lines:
            for features, feasible in zip(self._features, self._feasible, strict=True):
                features[line], feasible[line] = np.nan, False
            self._arm[line], self._entered[line], self._outcome[line] = -1, False, np.nan
            self._histories.pop(line, None)

    def _double(self) -> None:
        self._features = [np.concatenate([f, np.full_like(f, np.nan)]) for f in self._features]
        self._feasible = [np.concatenate([f, np.zeros_like(f)]) for f in self._feasible]
        self._arm = np.concatenate([self._arm, np.full_like(self._arm, -1)])
        self._entered = np.concatenate([self._entered, np.zeros_like(self._entered)])
        self._outcome = np.concatenate([self._outcome, np.full_like(self._outcome, np.nan)])
