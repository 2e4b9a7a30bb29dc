"""Looks during a trial, with known truth: how often limits miss it at some look, and how often repeated 1.96 does.

A trial is looked at after every unit, or after every forced block, from the first look with ten units on each side
until 500 units have ended. It misses if any of these looks excludes the true difference. Without an effect that is the
type-I error over all looks. Beside it stand the usual 95 % intervals of the same scores, each read as if it were the
only one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation.looks.sequence import reach
from dtrbandit.intervals import REACH
from dtrbandit.parallel import map_unordered

UNITS, NOMINAL = 500, 0.05
STAGES = dtr.Stage("first", ("1", "2"), "1 + x1"), dtr.Stage("second", ("1", "2"), "1 + x2")


class Setting(NamedTuple):
    """A policy, the number of stages, and the difference between the regimes that always give 2 and always 1."""

    policy: Any
    stages: int
    difference: float = 0.0

    def __str__(self) -> str:
        return f"{self.policy!r}, {self.stages} stage{'s'[: self.stages - 1]}, difference {self.difference:g}"

    def session(self, repetition: int) -> dtr.Session:
        """Let units come, respond and complete one after the other."""
        rng = np.random.default_rng([29, repetition])
        session = dtr.Session(dtr.Design(STAGES[: self.stages]), self.policy, seed=repetition)
        for t, (x1, x2, noise) in enumerate(rng.normal(size=(UNITS, 3)).tolist()):
            arms = [session.enroll(f"u{t}", {"x1": x1}).arm]
            if self.stages == 2:
                second = session.respond(f"u{t}", {"x2": 0.5 * x1 + x2})
                assert second is not None
                arms.append(second.arm)
            share = arms.count("2") / self.stages
            session.complete(f"u{t}", x1 + x2 + noise + share * self.difference)
        return session


class Trial(NamedTuple):
    """Whether some look of a trial misses the truth, and how wide the limits are at the last; NaN without limits."""

    missed: bool
    missed_by_repeating: bool
    width: float
    looks: int


SETTINGS = (
    Setting(dtr.DTRBandit(q=5, delta=0.5), 2),
    Setting(dtr.DTRBandit(q=5, delta=0.5, schedule="permuted"), 2),
    Setting(dtr.DTRBandit(q=5, delta=0.5, floor=0.1), 1),
    Setting(dtr.DTRBandit(q=5, delta=0.5, floor=0.05), 1),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 2),
    Setting(dtr.UniformRandom(), 2),
    Setting(dtr.DTRBandit(q=5, delta=0.5), 2, 0.5),
    Setting(dtr.DTRBandit(q=5, delta=0.5, floor=0.1), 1, 0.5),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 2, 0.5),
)


def looked(setting: Setting, repetition: int) -> Trial:
    """Return what all looks of one trial say of the truth."""
    names = [stage.name for stage in STAGES[: setting.stages]]
    two, one = (dtr.FixedRegime(rule=dict.fromkeys(names, arm)) for arm in ("2", "1"))
    looks = setting.session(repetition).monitor({"2": two, "1": one})
    known = np.isfinite(looks.low)
    error = np.abs(looks.difference - setting.difference)[known]
    half = ((looks.high - looks.low) / 2)[known]
    usual = REACH / np.sqrt(looks.scored[known])
    repeated = half / reach(looks.scored[known], alpha=looks.alpha, tightest=looks.tightest) * usual
    width = float(2 * half[-1]) if known.any() else np.nan
    return Trial(bool((error > half).any()), bool((error > repeated).any()), width, int(known.sum()))


def verdict(share: float, repetitions: int) -> str:
    """Judge a share of misses against what was promised, within two Monte-Carlo errors."""
    error = 2 * np.sqrt(share * (1 - share) / repetitions)
    return "holds" if share - error <= NOMINAL else "refuted"


def shown(setting: Setting, trials: Sequence[Trial]) -> list[str]:
    """Return a row of the table."""
    missed, repeated = (np.mean([getattr(each, name) for each in trials]) for name in ("missed", "missed_by_repeating"))
    error = np.sqrt(missed * (1 - missed) / len(trials))
    with_limits = np.mean([each.looks > 0 for each in trials])
    width, looks = np.nanmean([each.width for each in trials]), np.mean([each.looks for each in trials])
    row = [f"{looks:.1f}", f"{with_limits:.3f}", f"{missed:.4f} ± {error:.4f}", f"{repeated:.3f}", f"{width:.2f}"]
    return [str(setting), f"{len(trials):,}", *row, verdict(float(missed), len(trials))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2_000)
    parser.add_argument("--only", type=int, nargs="*", default=range(len(SETTINGS)), help="settings, counted from 0")
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args()
    console = Console(width=180)
    columns = "setting", "trials", "looks", "with limits", "missed at some look", "repeated 1.96", "width at last", ""
    table = Table(*columns, title=f"until {UNITS} units have ended; to reach: missed ≤ {NOMINAL}")
    for setting in (SETTINGS[number] for number in asked.only):
        trials = map_unordered(partial(looked, setting), range(asked.repetitions), n_jobs=asked.jobs, progress="trials")
        row = shown(setting, list(trials))
        console.print(*row, sep=" | ")
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
