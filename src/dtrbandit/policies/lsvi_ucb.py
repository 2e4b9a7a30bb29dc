"""LSVI-UCB (Jin et al. 2019, Algorithm 1), the optimistic benchmark of the paper's section 5.1."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import each, positive
from dtrbandit.errors import DesignError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.estimators.observed import Observed
from dtrbandit.estimators.optimistic import OptimisticLearner
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Array, Matrix
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.parameters import NEUTRAL
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.state import PolicyState

BUILT_FROM = c.BUILT_FROM
Bound = tuple[float | tuple[float, ...], ...]

PLAINLY = 2.0  # times the stages times the scale: outcomes of this size, by their root mean square, exceed it


class UnscaledOutcomes(UserWarning):
    """LSVI-UCB met outcomes that are large beside its scale, so that its bonus is small beside them."""


@dataclass(frozen=True, kw_only=True)
class LSVIUCB(BuiltinPolicy):
    """Pull the arm with the best optimistic estimate: ridge regression plus β times its uncertainty.

    Parameters
    ----------
    beta
        β, the weight of the bonus; ``suggested_beta`` is the theory's for a known number of rounds.
    ridge
        λ.
    clip
        Upper limit of the estimates in the outcome's own units, a number or one per stage; None for no limit.
    bound
        For each stage, a number or one per feature, by which features are divided to meet ‖φ‖ ≤ 1.
    scale
        What outcomes are divided by, so that each stage adds at most 1 to them: the theory's β is for such rewards. An
        outcome between −26 and 0 in two stages has the scale 13. Estimates stay in the outcome's own units.
    leavers
        The target of a unit that left early: its ``"observed"`` outcome, or the ``"optimistic"`` value of the
        stage it did not enter, where its context carries that stage's features.
    switching
        ``"every"``: refit after every fact, as published. ``"rare"``: only when a stage's Gram determinant
        has doubled, or a fact was amended.

    Examples
    --------
    >>> LSVIUCB(beta=4.0).ridge
    1.0
    """

    beta: float | None = None
    ridge: float = 1.0
    clip: float | tuple[float, ...] | None = None
    bound: Bound | None = None
    leavers: Literal["observed", "optimistic"] = "observed"
    switching: Literal["every", "rare"] = "every"
    scale: float = field(default=1.0, metadata={NEUTRAL: 1.0})  # of a log where it is 1: older ones have none

    def __post_init__(self) -> None:
        if self.beta is not None:
            object.__setattr__(self, "beta", positive(self.beta, "LSVIUCB: beta"))
        object.__setattr__(self, "ridge", positive(self.ridge, "LSVIUCB: ridge"))
        object.__setattr__(self, "scale", positive(self.scale, "LSVIUCB: scale"))
        if self.clip is not None:
            object.__setattr__(self, "clip", each(self.clip, "LSVIUCB: clip", positive))
        if self.bound is not None:
            if isinstance(self.bound, str) or not isinstance(self.bound, Sequence):
                raise DesignError(f"LSVIUCB: bound must have one entry per stage, found {self.bound!r}")
            object.__setattr__(self, "bound", tuple(each(b, "LSVIUCB: bound", positive) for b in self.bound))
        if self.leavers not in ("observed", "optimistic"):
            raise DesignError(f"LSVIUCB: leavers must be 'observed' or 'optimistic', found {self.leavers!r}")
        if self.switching not in ("every", "rare"):
            raise DesignError(f"LSVIUCB: switching must be 'every' or 'rare', found {self.switching!r}")

    @classmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return the published rule, and its options."""
        return (
            cls(beta=0.5),
            cls(beta=0.5, leavers="optimistic", switching="rare", clip=3.0),
            cls(beta=0.5, leavers="optimistic"),
        )

    def state(self, design: Design) -> LSVIUCBState:
        """Return its state before the first unit."""
        return LSVIUCBState(self, design)

    def estimates(self, state: LSVIUCBState) -> Estimates:
        """Return the weights w, on the scale of the features as given."""
        return state.estimates()

    def learner(self, observed: Observed, design: Design) -> OptimisticLearner:
        """Return its learner before the first unit.

        Ridge regression is linear in the outcomes. So outcomes divided by the scale, and estimates multiplied by it
        again, are outcomes as they are with a bonus of β times the scale.
        """
        if self.beta is None:
            raise DesignError(
                "LSVIUCB: beta is needed here, since the number of rounds is open; "
                "suggested_beta(design, rounds=...) gives the theory's choice"
            )
        stages = len(design.stages)
        clip = self.clip if isinstance(self.clip, tuple) else (math.inf if self.clip is None else self.clip,) * stages
        if len(clip) != stages:
            raise DesignError(f"LSVIUCB: clip needs one entry for each of the {stages} stages, found {len(clip)}")
        return OptimisticLearner(
            observed,
            bonus=self.beta * self.scale,
            ridge=self.ridge,
            leavers_observed=self.leavers == "observed",
            rare=self.switching == "rare",
            clip=np.array(clip, dtype=np.float64),
            divisors=self.divisors(design),
        )

    def divisors(self, design: Design) -> Matrix:
        """Return what features are divided by, (M, D)."""
        bound = (1.0,) * len(design.stages) if self.bound is None else self.bound
        if len(bound) != len(design.stages):
            raise DesignError(f"LSVIUCB: bound needs one entry for each of {len(design.stages)} stages, found {bound}")
        divisors = np.ones((len(design.stages), max(design.dimensions)))
        for m, (divisor, d) in enumerate(zip(bound, design.dimensions, strict=True)):
            if isinstance(divisor, tuple) and len(divisor) != d:
                raise DesignError(f"LSVIUCB: bound of stage {m + 1} has {len(divisor)} numbers for {d} features")
            divisors[m, :d] = divisor
        return divisors


class LSVIUCBState(PolicyState):
    """LSVI-UCB in play."""

    def __init__(self, policy: LSVIUCB, design: Design) -> None:
        super().__init__(policy, design)
        self.learner = policy.learner(self.observed, design)

    def decide(self, unit: int, m: int, node: int, u: float) -> int:
        """Pull argmax_a Q_m(h, a) (Jin et al., line 12); leave the reason."""
        feasible = self.clear_sheet(node)
        self.learner.divide(m)
        for a in range(self.observed.arm_count[m]):
            self.sheet[c.Q_HAT, a] = self.learner.optimistic(m, a)
        arm = self.best(c.Q_HAT)
        self.sheet[c.PROPENSITY, arm] = 1.0
        self.reason = c.ONLY_FEASIBLE if feasible == 1 else c.OPTIMISTIC
        return arm

    def learn(self, fact: int, unit: int, m: int) -> None:
        """Learn from a fact that is written down."""
        self.learner.learn(fact, unit, m)

    def relearn(self) -> None:
        """Learn everything again from what is written down."""
        self.learner.relearn()

    def make_room(self, capacity: int, nodes: int) -> None:
        """Make room for so many units, at so many nodes."""
        self.learner.reserve(capacity, nodes)

    def parts(self) -> dict[str, Any]:
        """Return by name what has arrays of its own."""
        return {"observed": self.observed, "learner": self.learner}

    def estimates(self) -> Estimates:
        """Return the weights w, on the scale of the features as given."""
        return self.learner.estimates(self.design)


def suggested_beta(design: Design, *, rounds: int, p: float = 1.0, c: float = 1.0) -> float:
    """Return β = c·d·H·√log(2dT/p) (Jin et al., Theorem 3.1), d the features of an arm, H the stages, T the rounds.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> round(suggested_beta(Synthetic().design, rounds=10_000), 4)  # 4·√log(4T)
    13.021
    """
    d, stages = max(design.dimensions), len(design.stages)
    return c * d * stages * math.sqrt(math.log(2 * d * rounds / p))


def knowing_rounds(policy: Policy[Any], design: Design, rounds: int) -> Policy[Any]:
    """Return the policy; LSVI-UCB without β takes the theory's for so many rounds (docs/readings.md, 11)."""
    if type(policy) is LSVIUCB and policy.beta is None:
        return replace(policy, beta=suggested_beta(design, rounds=rounds))
    return policy


def warn_if_unscaled(policy: Policy[Any], outcomes: Array, stages: int, *, name: str, stacklevel: int) -> None:
    """Warn if outcomes plainly exceed LSVI-UCB's scale: their root mean square is over twice stages × scale.

    ``outcomes`` are those that it met, NaN where none was seen.
    """
    if type(policy) is not LSVIUCB or not np.isfinite(outcomes).any():
        return
    usual, most = math.sqrt(float(np.nanmean(outcomes**2))), stages * policy.scale
    if usual > PLAINLY * most:
        warnings.warn(
            f"{name}: outcomes have a root mean square of {usual:.3g}, but scale={policy.scale:g} is for outcomes of "
            f"{most:g} at the most, {stages} stage{'s' * (stages > 1)} of {policy.scale:g} each: beside them the bonus "
            "is small, and LSVI-UCB is hardly optimistic; give scale=, the largest size of an outcome divided by the "
            "number of stages",
            UnscaledOutcomes,
            stacklevel=stacklevel + 1,
        )


def looks_only_back(policy: Policy[Any], stages: int) -> bool:
    """Say whether a unit's earlier rows cannot change its later decisions.

    Rare switching is the exception. It refits all stages at once when the Gram determinant of any has doubled. So the
    row of stage 1, counted on arrival at stage 2, may put into use what was learnt of stage 3 from other units.
    """
    return not (isinstance(policy, LSVIUCB) and policy.switching == "rare" and stages > 2)
