"""How often intervals of means over simulated paths hold the truth: `make coverage` prints this table.

DTRB(1, 5) and DTRB(5, 0.5) on the synthetic problem, final regret after 2,000 rounds, and their difference by
path. A pool of paths is simulated once; its mean is the truth. Studies are drawn from the pool with replacement. What a
study prints depends on its number of paths alone. A line fails only if its coverage and two Monte-Carlo errors stay
below 93 % where "95 %" is printed, and below 87 % where "about 90 %" is.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.intervals import ABOUT, FULL, TOO_FEW, bootstrap_t, interval, level_of
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered

HORIZON, POOL = 2_000, 40_000
AT_ONCE = 400  # paths of the pool in one study
SIZES = 10, 40, 200, 500, 1_000
POLICIES = {"DTRB(1, 5)": dtr.DTRBandit(q=1, delta=5.0), "DTRB(5, 0.5)": dtr.DTRBandit(q=5, delta=0.5)}
QUANTITIES = (*POLICIES, "difference")
LEAST = {FULL: 0.93, ABOUT: 0.87}


def final_regrets(seed: int) -> Array:
    """Return the regret of some paths after the last round, (paths, policies)."""
    study = dtr.simulate(Synthetic(), POLICIES, horizon=HORIZON, paths=AT_ONCE, seed=seed, n_jobs=1)
    return np.stack([study.total_regret(name, [HORIZON])[:, 0] for name in POLICIES], axis=1)


def pool(paths: int, file: Path | None) -> Array:
    """Return the pool, (paths, quantities); read from a file if it is there, else simulated and kept in it."""
    if file is not None and file.exists():
        regrets = np.load(file)
    else:
        seeds = range(-(-paths // AT_ONCE))
        regrets = np.concatenate(list(map_unordered(final_regrets, seeds, n_jobs=-1, progress="parts of the pool")))
        if file is not None:
            np.save(file, regrets)
    return np.column_stack([regrets, regrets[:, 0] - regrets[:, 1]])


class Covered(NamedTuple):
    """Whether two intervals hold the truth, by quantity."""

    student: Array
    bootstrap: Array


def covered(drawn_from: Array, size: int, repetition: int) -> Covered:
    """Draw a study from the pool, and look whether its intervals hold the truth."""
    rows = np.random.default_rng([19, size, repetition]).integers(len(drawn_from), size=size)
    paths, truth = drawn_from[rows], drawn_from.mean(axis=0)
    student, (low, high) = interval(paths), bootstrap_t(paths, seed=repetition)
    return Covered((student.low <= truth) & (truth <= student.high), (low <= truth) & (truth <= high))


def verdict(share: float, printed: str, repetitions: int) -> str:
    """Judge a coverage within two Monte-Carlo errors."""
    if printed == TOO_FEW:
        return "not printed"
    return "ok" if share + 2 * np.sqrt(share * (1 - share) / repetitions) >= LEAST[printed] else "TOO LOW"


def study_table(repetitions: int, *, paths: int = POOL, file: Path | None = None) -> Table:
    """Measure coverage by number of paths."""
    drawn_from = pool(paths, file)
    title = f"Means over paths: coverage in {repetitions:,} studies from a pool of {len(drawn_from):,} paths"
    table = Table("final regret of", "paths", "t", "bootstrap-t", "± MC", "printed as", "", title=title)
    for size in SIZES:
        work = partial(covered, drawn_from, size)
        found = list(map_unordered(work, range(repetitions), n_jobs=-1, progress=f"studies of {size} paths"))
        student, bootstrap = (np.mean([getattr(each, name) for each in found], axis=0) for name in Covered._fields)
        for number, name in enumerate(QUANTITIES):
            share, printed = float(bootstrap[number]), level_of(size)
            error = np.sqrt(share * (1 - share) / repetitions)
            numbers = f"{student[number]:.3f}", f"{share:.3f}", f"{error:.3f}"
            table.add_row(name, f"{size:,}", *numbers, printed, verdict(share, printed, repetitions))
        table.add_section()
    return table
