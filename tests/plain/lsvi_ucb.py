"""LSVI-UCB (Jin et al. 2019, Algorithm 1), the optimistic benchmark of the paper's section 5.1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import each, positive
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.policy import Choice, certain, feasible_arms
from dtrbandit.record.events import ArmClosed, Completed, Corrected, Fact, Overridden, Responded, Taught, Voided
from dtrbandit.record.histories import History
from plain.optimistic_ridge import Optimism, Ridge, optimistic_induction, optimistic_values
from plain.rules import Estimates, best, numbers
from plain.samples import Samples

Bound = tuple[float | tuple[float, ...], ...]


@dataclass
class LSVIUCBState:
    """What LSVI-UCB has learnt."""

    design: Design
    optimism: Optimism
    samples: Samples
    fits: tuple[Ridge, ...]


@dataclass(frozen=True, kw_only=True)
class LSVIUCB:
    """Pull the arm with the best optimistic estimate: ridge regression plus β times its uncertainty.

    Parameters
    ----------
    beta
        β, the weight of the bonus; ``suggested_beta`` is the theory's for a known number of rounds.
    ridge
        λ.
    clip
        Upper limit of the estimates, a number or one per stage; None for no limit.
    bound
        For each stage, a number or one per feature, by which features are divided to meet ‖φ‖ ≤ 1.
    leavers
        The target of a unit that left early: its ``"observed"`` outcome, or the ``"optimistic"`` value of the
        stage it did not enter, where its context carries that stage's features.
    switching
        ``"every"``: refit after every fact, as published. ``"rare"``: only when a stage's Gram determinant
        has doubled.
    scale
        What outcomes, and limits of them, are divided by; estimates are multiplied by it again.
    """

    beta: float | None = None
    ridge: float = 1.0
    clip: float | tuple[float, ...] | None = None
    bound: Bound | None = None
    leavers: Literal["observed", "optimistic"] = "observed"
    switching: Literal["every", "rare"] = "every"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.beta is not None:
            object.__setattr__(self, "beta", positive(self.beta, "LSVIUCB: beta"))
        object.__setattr__(self, "ridge", positive(self.ridge, "LSVIUCB: ridge"))
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

    def init(self, design: Design) -> LSVIUCBState:
        """Return the state before the first unit."""
        if self.beta is None:
            raise DesignError(
                "LSVIUCB: beta is needed here, since the number of rounds is open; "
                "suggested_beta(design, rounds=...) gives the theory's choice"
            )
        stages = len(design.stages)
        clip = self.clip if isinstance(self.clip, tuple) else (math.inf if self.clip is None else self.clip,) * stages
        bound = (1.0,) * stages if self.bound is None else self.bound
        if len(clip) != stages or len(bound) != stages:
            raise DesignError(f"LSVIUCB: clip and bound need one entry for each of the {stages} stages")
        divisors = tuple(_divisors(bound[m], design.dimensions[m], m) for m in range(stages))
        clip = tuple(limit / self.scale for limit in clip)
        optimism = Optimism(self.beta, self.ridge, clip, divisors, self.leavers == "observed")
        samples = Samples(design)
        return LSVIUCBState(design, optimism, samples, optimistic_induction(design, samples, optimism))

    def decide(self, state: LSVIUCBState, history: History, u: float) -> Choice:  # noqa: ARG002  # draws nothing
        """Pull argmax_a Q_m(h, a) (Jin et al., line 12)."""
        m, arms = len(history.arms), feasible_arms(history)
        q = optimistic_values(state.fits[m], history.features[-1][None, :], m, state.optimism)[0]
        reason = "only_feasible" if len(arms) == 1 else "optimistic"
        choice = certain(best(q, arms), history, reason)
        return choice._replace(q_tilde=(None,) * len(q), q_hat=numbers(q * self.scale), contenders=arms)

    def update(self, state: LSVIUCBState, history: History, event: Fact) -> LSVIUCBState:
        """Learn from a fact (Jin et al., lines 3 to 9)."""
        if isinstance(event, ArmClosed):
            m = state.design.stage_number(event.stage)
            state.samples.close(m, state.design.stages[m].arms.index(event.arm))
            state.fits = optimistic_induction(state.design, state.samples, state.optimism)
            return state
        if isinstance(event, Taught):
            return self._teach(state, history)
        if isinstance(event, Responded | Completed | Overridden | Corrected | Voided):
            outcome = None if history.outcome is None else history.outcome / self.scale
            scaled = history._replace(outcome=outcome)
            state.samples.forget(scaled) if isinstance(event, Voided) else state.samples.record(scaled)
            fits = optimistic_induction(state.design, state.samples, state.optimism)
            amended = isinstance(event, Overridden | Corrected | Voided) and has_taught(history)
            if self.switching == "every" or amended or _doubled(fits, state.fits):
                state.fits = fits
        return state

    def _teach(self, state: LSVIUCBState, history: History) -> LSVIUCBState:
        """Learn from a unit of an earlier trial as if it came stage by stage: each row may double a determinant."""
        arms, outcome = history.arms, history.outcome
        state.samples.teach(history._replace(features=history.features[:1], arms=(), outcome=None))
        steps = [
            history._replace(features=history.features[: m + 1], arms=arms[:m], outcome=None)
            for m in range(1, len(history.features) if outcome is None else len(arms))
        ]
        scaled = None if outcome is None else outcome / self.scale
        for step in (*steps, history._replace(outcome=scaled)):
            state.samples.tell_of_taught(step)
            fits = optimistic_induction(state.design, state.samples, state.optimism)
            if self.switching == "every" or _doubled(fits, state.fits):
                state.fits = fits
        return state

    def estimates(self, state: LSVIUCBState) -> Estimates:
        """Return the weights w, on the scale of the features as given."""
        divisors = state.optimism.divisors
        return Estimates(tuple(self.scale * fit.weights / d for fit, d in zip(state.fits, divisors, strict=True)))


def has_taught(history: History) -> bool:
    return len(history.arms) > 1 or history.outcome is not None


def _divisors(bound: float | tuple[float, ...], dimension: int, m: int) -> Vector:
    divisors = np.array(bound if isinstance(bound, tuple) else (bound,) * dimension)
    if len(divisors) != dimension:
        raise DesignError(f"LSVIUCB: bound of stage {m + 1} has {len(divisors)} numbers for {dimension} features")
    return divisors


def _doubled(new: tuple[Ridge, ...], old: tuple[Ridge, ...]) -> bool:
    """Say whether a stage's det Λ_h has at least doubled."""
    for after, before in zip(new, old, strict=True):
        gain = np.linalg.slogdet(after.gram)[1].sum() - np.linalg.slogdet(before.gram)[1].sum()
        if gain >= math.log(2):
            return True
    return False
