"""The results of a simulation study, and the questions one asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import DesignError, DTRError
from dtrbandit.intervals import TOO_FEW, band, level_of, no_band, spread_band
from dtrbandit.kernels.arrays import Array
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.rounds import POINTS, Times, cumulative, times
from dtrbandit.simulation.manifest import Manifest
from dtrbandit.simulation.regret import Arms
from dtrbandit.simulation.summary import StudySummary, Totals, best_policy, summarise
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The results of a simulation study: P policies on the same units, along n paths.

    A unit that is lost has regret for the arms it was given. Its outcome is NaN and its realised regret is 0.

    Attributes
    ----------
    manifest
        What was studied.
    paths
        The numbers of the paths, from 0.
    arms
        For each policy the arms given, (n, horizon, M), −1 where a stage was not entered.
    rewards
        For each policy the outcome of each unit, (n, horizon), NaN where it was never seen.
    stage_regret
        For each policy max_a Q_m − Q_m(A_m) of each round, (n, horizon, M), 0 where a stage was not entered
        (Proposition 1); None if the environment does not know its Q-functions.
    oracle
        The outcome of each unit under the best plan, (n, horizon); None if Q-functions are not known.

    Examples
    --------
    >>> import dtrbandit as dtr
    >>> from dtrbandit.environments import Synthetic
    >>> policies = {"DTRB": dtr.DTRBandit(q=5, delta=0.5), "Greedy": dtr.Greedy()}
    >>> study = dtr.simulate(Synthetic(), policies, horizon=200, paths=3, seed=1)
    >>> study.arms["DTRB"].shape, list(study.regret(at=[200])["t"])
    ((3, 200, 2), [200, 200, 200, 200, 200, 200])
    """

    manifest: Manifest
    paths: tuple[int, ...]
    arms: Mapping[str, Arms]
    rewards: Mapping[str, Array]
    stage_regret: Mapping[str, Array] | None
    oracle: Array | None

    def __post_init__(self) -> None:
        for array in _arrays(self):
            array.flags.writeable = False

    @property
    def horizon(self) -> int:
        """The number of rounds of each path."""
        return self.manifest.horizon

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies."""
        return tuple(self.arms)

    def regret(self, at: Times = None) -> pd.DataFrame:
        """Return the regret up to rounds ``at``: given ones, ``"all"``, or by default 200 evenly spaced in log t.

        There is a row per policy, path and t, with the sum over stages, a column per stage, and the realised regret:
        the outcome under the oracle's plan less the outcome under the arms given.
        """
        import pandas as pd

        rounds, frames = times(self.horizon, at), []
        for name, regret in self._known_regret().items():
            stages = cumulative(regret, rounds)  # (n, points, M)
            frames.append(
                pd.DataFrame(
                    {
                        "policy": name,
                        "path": np.repeat(np.array(self.paths, dtype=np.int64), len(rounds)),
                        "t": np.tile(rounds, len(self.paths)),
                        "regret": stages.sum(axis=2).ravel(),
                        **{stage: stages[:, :, m].ravel() for m, stage in enumerate(self.manifest.stages)},
                        "realised": cumulative(self.realised(name), rounds).ravel(),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    def total_regret(self, policy: str, at: Times = None) -> Array:
        """Return the regret of each path over all stages up to rounds ``at``, as ``regret`` does, (n, points)."""
        (name,) = self._chosen([policy])
        return cumulative(self._known_regret()[name].sum(axis=2), times(self.horizon, at))

    def realised(self, policy: str) -> Array:
        """Return the outcome under the oracle's plan less that under the arms given, (n, horizon); 0 if lost."""
        (name,) = self._chosen([policy])
        self._known_regret()
        assert self.oracle is not None
        difference: Array = np.nan_to_num(self.oracle - self.rewards[name], nan=0.0)
        return difference

    @property
    def best(self) -> str:
        """The policy with the largest mean outcome over all paths, of equal ones the first."""
        self._require_paths()
        return best_policy(self._mean_outcomes())

    def behind_best(self, policy: str, at: Times = None) -> Array:
        """Return the outcomes of ``best`` less those of a policy, summed up to rounds ``at``, (n, points).

        It stands in for regret where Q-functions are not known. A unit that is lost counts nothing.
        """
        (name,) = self._chosen([policy])
        difference = np.nan_to_num(self.rewards[self.best] - self.rewards[name], nan=0.0)
        return cumulative(difference, times(self.horizon, at))

    def summary(self) -> StudySummary:
        """Return how the policies compare at the horizon, and how each differs from the first on the same units.

        They are compared by regret. Where the environment does not know its Q-functions, they are compared by mean
        outcome, and each with the best of them.
        """
        self._require_paths()
        if self.stage_regret is None:
            return summarise(Totals(self._mean_outcomes(), None, self.horizon), seed=self.manifest.seed)
        rounds = np.array([max(self.horizon // 2, 1), self.horizon])
        totals = {name: cumulative(regret, rounds).sum(axis=2) for name, regret in self.stage_regret.items()}
        half = {name: total[:, 0] if self.horizon > 1 else 0 * total[:, 0] for name, total in totals.items()}
        final = {name: total[:, 1] for name, total in totals.items()}
        return summarise(Totals(final, half, self.horizon), seed=self.manifest.seed)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        policies: Sequence[str] | None = None,
        paths: bool = False,
        log: bool = False,
    ) -> Axes:
        """Draw mean regret; ``paths`` adds every path, ``log`` makes the axis of rounds logarithmic.

        The band is the interval of the mean. With too few paths for one it is the spread of the paths, 5 to 95 %, and
        left out where every path is drawn.

        Where Q-functions are not known, the outcome lost against ``best`` is drawn. Its band is always the spread of
        the paths: ``best`` was chosen by the same paths, so an interval at each round would not hold.
        """
        self._require_paths()
        curves, words = [], ""
        rounds = times(self.horizon, None if log else np.linspace(1, self.horizon, 2 * POINTS).astype(np.int64))
        for name in self._chosen(policies):
            if self.stage_regret is None:
                singles = self.behind_best(name, rounds)
                low, high, words = no_band(singles) if paths else spread_band(singles)
            else:
                singles = self.total_regret(name, rounds)
                few = paths and level_of(len(singles)) == TOO_FEW
                low, high, words = no_band(singles) if few else band(singles, seed=self.manifest.seed)
            number = self.policies.index(name)
            curves.append(Curve(name, number, rounds, singles.mean(axis=0), low, high, singles if paths else None))
        many = f"{counted(len(self.paths), 'path')}: {words}" if words else "1 path"
        known = self.stage_regret is not None
        what = "regret " if known else f"outcome lost against {self.best}, the best on average\n"
        return plot_curves(curves, ax, y=f"{what}({many})", log=log)

    def save(self, folder: str | Path) -> None:
        """Write the study into a folder: Parquet files, and a manifest last of all.

        The same study with fewer paths is replaced; anything else that is there already is an error.
        """
        from dtrbandit.simulation.saved import as_folder, save_study

        save_study(self, as_folder(folder))

    def take(self, numbers: Sequence[int]) -> Study:
        """Return the study of some of its paths only."""
        row_of = {number: row for row, number in enumerate(self.paths)}
        if missing := [number for number in numbers if number not in row_of]:
            raise DesignError(f"path {missing[0]} is not among the {len(self.paths)} finished paths of this study")
        rows = [row_of[number] for number in numbers]
        return Study(
            self.manifest,
            tuple(numbers),
            {name: values[rows] for name, values in self.arms.items()},
            {name: values[rows] for name, values in self.rewards.items()},
            None if self.stage_regret is None else {name: values[rows] for name, values in self.stage_regret.items()},
            None if self.oracle is None else self.oracle[rows],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        same = self.manifest == other.manifest and list(self.arms) == list(other.arms) and self.paths == other.paths
        return same and all(a.tobytes() == b.tobytes() for a, b in zip(_arrays(self), _arrays(other), strict=True))

    __hash__ = None  # type: ignore[assignment]  # how Python says unhashable, and mypy cannot

    def __repr__(self) -> str:
        return (
            f"<Study of {counted(len(self.paths), 'path')} of {counted(self.horizon, 'round')} of "
            f"{self.manifest.environment}: {', '.join(self.policies)}>"
        )

    def _mean_outcomes(self) -> dict[str, Array]:
        return {name: np.nanmean(outcomes, axis=1) for name, outcomes in self.rewards.items()}

    def _known_regret(self) -> Mapping[str, Array]:
        if self.stage_regret is None:
            raise DTRError(
                f"the environment {self.manifest.environment} does not know its Q-functions, so there is no regret; "
                "outcomes are in study.rewards, and study.summary() and study.plot() compare them"
            )
        return self.stage_regret

    def _require_paths(self) -> None:
        if not self.paths:
            raise DTRError("no path of this study is finished yet; simulate(..., resume=study) runs them")

    def _chosen(self, policies: Sequence[str] | None) -> Sequence[str]:
        unknown = [name for name in policies or () if name not in self.arms]
        if unknown:
            raise DesignError(f"there is no policy {unknown[0]!r} in this study; there are {list(self.arms)}")
        return self.policies if policies is None else policies


def _arrays(study: Study) -> list[NDArray[np.generic]]:
    arrays: list[NDArray[np.generic]] = [*study.arms.values(), *study.rewards.values()]
    if study.stage_regret is not None and study.oracle is not None:
        arrays += [*study.stage_regret.values(), study.oracle]
    return arrays
