"""More paths than a study keeps, for its claims: their regret up to a few rounds, and nothing else.

A picture has the paper's 40 paths, and a claim about a mean needs 1,000. A study of so many would take a gigabyte. So
only what claims look at is kept: the regret of each path and stage, summed up to the rounds of ``rounds_of_claims``.
Path k is the same path in both: the same units and the same uniform numbers. So the first paths are the picture's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered
from dtrbandit.rounds import Times, cumulative, times
from dtrbandit.simulation.inputs import Inputs
from dtrbandit.simulation.one_path import play_path
from dtrbandit.simulation.study import Study

Rounds = NDArray[np.int64]


class Regret(Protocol):
    """What claims about regret look at: a study is one, and so is a study with more paths."""

    @property
    def horizon(self) -> int:
        """The number of rounds of each path."""

    def total_regret(self, policy: str, at: Times = None) -> Array:
        """Return the regret of each path over all stages up to rounds ``at``, (paths, points)."""


@dataclass(frozen=True, eq=False)
class MorePaths:
    """A study, of which some policies have more paths: ``sums`` up to ``rounds``, (paths, points, M) for each of them.

    The other policies have the paths of the study.
    """

    study: Study
    rounds: Rounds
    sums: Mapping[str, Array]

    @property
    def horizon(self) -> int:
        """The number of rounds of each path."""
        return self.study.horizon

    def total_regret(self, policy: str, at: Times = None) -> Array:
        """Return the regret of each path over all stages up to rounds ``at``, (paths, points)."""
        if policy not in self.sums:
            return self.study.total_regret(policy, at)
        total: Array = stage_totals(self, policy, times(self.horizon, at)).sum(axis=2)
        return total


def stage_totals(regret: Regret, policy: str, at: Rounds) -> Array:
    """Return the regret of each path and stage up to rounds ``at``, (paths, points, M)."""
    if isinstance(regret, MorePaths) and policy in regret.sums:
        places = np.searchsorted(regret.rounds, at)
        assert (regret.rounds[np.minimum(places, len(regret.rounds) - 1)] == at).all()  # claims look at no other
        return regret.sums[policy][:, places]
    study = regret.study if isinstance(regret, MorePaths) else regret
    assert isinstance(study, Study)
    assert study.stage_regret is not None  # the problems of figures and extensions know their Q-functions
    return cumulative(study.stage_regret[policy], at)


def common_paths(values: Iterable[Array]) -> list[Array]:
    """Return what several policies have on the paths that all of them have: the first ones.

    Examples
    --------
    >>> [len(own) for own in common_paths([np.zeros(40), np.zeros(1_000)])]
    [40, 40]
    """
    every = list(values)
    fewest = min(len(own) for own in every)
    return [own[:fewest] for own in every]


def doubling_rounds(horizon: int, block: int) -> Rounds | None:
    """Return T/4, T/2 and T for the last T = block · 2^k, in step with the schedule; None if there is none.

    Examples
    --------
    >>> doubling_rounds(10_000, 20)
    array([1280, 2560, 5120])
    """
    if horizon < 4 * block:
        return None
    last = block * 2 ** int(math.log2(horizon / block))
    return np.array([last // 4, last // 2, last])


def rounds_of_claims(horizon: int, blocks: Iterable[int]) -> Rounds:
    """Return the rounds at which claims look: the last doublings, the first block, half of the rounds, and all.

    Examples
    --------
    >>> rounds_of_claims(1_000, [20])
    array([  20,  160,  320,  500,  640, 1000])
    """
    found = {horizon // 2, horizon}
    for block in blocks:
        doublings = doubling_rounds(horizon, block)
        found |= {min(block, horizon)} | (set() if doublings is None else set(doublings.tolist()))
    return np.array(sorted(found))


def more_paths(
    study: Study, inputs: Inputs, counts: Mapping[str, int], *, rounds: Rounds, n_jobs: int | None, progress: bool
) -> MorePaths:
    """Run as many paths of each policy as ``counts`` say, where the study has fewer; ``inputs`` are the study's."""
    lacking = {name: count for name, count in counts.items() if count > len(study.paths)}
    policies, sums = inputs.players, dict[str, Array]()
    for count in sorted(set(lacking.values())):
        chosen = {name: policy for name, policy in policies.items() if lacking.get(name) == count}
        work = partial(_summed, replace(inputs, policies=chosen, paths=count), rounds)
        found = map_unordered(work, range(count), n_jobs=n_jobs, progress="claims' paths" if progress else None)
        by_path = [each for _, each in sorted(found, key=lambda own: own[0])]
        sums |= {name: np.stack([each[name] for each in by_path]) for name in chosen}
    return MorePaths(study, rounds, sums)


def _summed(inputs: Inputs, rounds: Rounds, number: int) -> tuple[int, dict[str, Array]]:
    """Return the number of a path, and the regret of each policy by stage up to ``rounds``, (points, M)."""
    performances = play_path(inputs, number).performances
    regret = {name: own.regret for name, own in performances.items() if own.regret is not None}
    return number, {name: np.cumsum(own, axis=0)[rounds - 1] for name, own in regret.items()}
