"""The interval in sequence of a learned regime, where something works.

x and z are standard normal, arms are ±1 by fair coins, and Y = δ (x A₁ + z A₂) + N(0, 1): each arm helps half of the
units by δ and harms the others. The value of every linear regime is then known in closed form. The interval is for the
mean value of the regimes that were learned in sequence, weighted as their blocks were. The cross-fitted value is for
regimes learned from four fifths of the units.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation.induction.induction import backward_induction, sample_of
from dtrbandit.evaluation.values.learned import BLOCKS, FOLDS, Learner, Scored, cross_fitted, in_sequence
from dtrbandit.intervals import REACH
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.parallel import map_unordered

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # cohorts are made as in the tests

from evaluation.simulated_cohorts import cohort_of

LEVEL = 0.93
DESIGN = dtr.Design([dtr.Stage("first", ("-1", "1"), "1 + x"), dtr.Stage("second", ("-1", "1"), "1 + x + z")])
FAIR = dtr.PropensityModel(choice={"first": "uniform", "second": "uniform"})


def value_of(coefficients: Sequence[Matrix], delta: float) -> float:
    """Return δ E[x d₁(x) + z d₂(x, z)] of the regime with the larger product of coefficients and features.

    For standard normal u with a sign of b₀ + bᵀu, E[u_j sign(b₀ + bᵀu)] = 2 (b_j / |b|) φ(b₀ / |b|).
    """

    def pays(difference: Matrix, j: int) -> float:
        length = float(np.linalg.norm(difference[1:]))
        return 2 * float(difference[j]) / length * NormalDist().pdf(float(difference[0]) / length)

    first, second = (each[1] - each[0] for each in coefficients)
    return delta * (pays(first, 1) + pays(second, 2))


@dataclass(frozen=True, eq=False)
class Watched(Learner):
    """A learner that writes down the true value of each regime that it learns."""

    delta: float = 0.0
    learned: list[float] = field(default_factory=list)

    def scored(self, teachers: NDArray[np.bool_]) -> Scored:
        """Return the scores of all units, under what the teachers teach."""
        own = sample_of(self.cohort.of(teachers), self.dropouts)
        coefficients = [stage.coefficients for stage in backward_induction(own)]
        self.learned.append(value_of(coefficients, self.delta))
        return super().scored(teachers)


class Found(NamedTuple):
    """Of one trial: whether the interval holds what it is about, and the value of the regime learned from all units.

    ``off`` is the cross-fitted value less the mean value of the five regimes that it is of, ``flatters`` is ``value_``
    less the value of the regime that was learned from all units.
    """

    held: bool
    held_all: bool
    off: float
    flatters: float


def one_trial(units: int, delta: float, repetition: int) -> Found:
    """Draw a trial, learn from it in sequence, and compare with what the regimes are worth."""
    rng = np.random.default_rng([43, repetition])
    x, z, noise = rng.normal(size=(3, units))
    arms = rng.integers(2, size=(units, 2))
    y = delta * (x * (2 * arms[:, 0] - 1) + z * (2 * arms[:, 1] - 1)) + noise
    cohort = cohort_of(DESIGN, [{"x": x}, {"z": z}], arms, y).with_propensities(FAIR)
    watched, order = Watched(cohort, "imputed", dtr.OutcomeModel(), delta=delta), rng.permutation(units)
    value = float(cross_fitted(watched, order).scores.mean())
    sequence = in_sequence(watched, order)
    worth = np.array(watched.learned)
    folds, target = worth[:FOLDS].mean(), float(worth[-BLOCKS:] @ sequence.shares)
    reach = REACH * sequence.std_error
    fit = dtr.QLearning(DESIGN).fit(cohort)
    final = value_of(fit.coefficients_, delta)
    return Found(
        held=abs(sequence.value - target) <= reach,
        held_all=abs(sequence.value - final) <= reach,
        off=value - folds,
        flatters=fit.value_ - final,
    )


def works_table(units: int, delta: float, repetitions: int, n_jobs: int) -> Table:
    """Measure coverage and bias."""
    work = partial(one_trial, units, delta)
    named = f"learned, {units:,} units, effects of {delta:g}"
    found = np.array(list(map_unordered(work, range(repetitions), n_jobs=n_jobs, progress=named)), dtype=float)
    held, final, off, flatters = found.mean(axis=0)
    error = found.std(axis=0) / np.sqrt(repetitions)
    table = Table("what", "measured", "± MC", "", title=f"{named}: {repetitions:,} trials")
    judged = "ok" if held + 2 * np.sqrt(held * (1 - held) / repetitions) >= LEVEL else "COVERS TOO LITTLE"
    table.add_row(
        "the interval holds the mean value of the regimes in sequence", f"{held:.3f}", f"{error[0]:.3f}", judged
    )
    table.add_row("it holds that of the regime from all units", f"{final:.3f}", f"{error[1]:.3f}", "not promised")
    table.add_row("cross-fitted value, less that of its five regimes", f"{off:.4f}", f"{error[2]:.4f}", "")
    table.add_row("value_, less that of the regime from all units", f"{flatters:.4f}", f"{error[3]:.4f}", "flatters")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args()
    for units, delta in ((200, 0.3), (200, 0.5), (600, 0.3)):
        Console(width=110).print(works_table(units, delta, asked.repetitions, asked.jobs))


if __name__ == "__main__":
    main()
