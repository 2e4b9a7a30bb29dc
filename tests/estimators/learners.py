"""Exact learners whose coefficients, metric and levels are set by hand, or that know some units."""

from __future__ import annotations

from typing import Any

import numpy as np

from dtrbandit.estimators.exact import ExactLearner
from dtrbandit.kernels import constants as c
from estimators.few_units import bare_design, store
from estimators.oracle import all_plans


def by_hand(beta: Any, radii: list[float], units: int = 200) -> ExactLearner:
    """Return a learner of one arm, then of arms with these coefficients (K, 2), in the metric of plain length."""
    arms = len(beta)
    learner = ExactLearner(store(bare_design(all_plans(1, arms), [1, arms], [1, 2]), units))
    learner.reserve(units)
    np.asarray(learner.rows)[1] = 1
    np.asarray(learner.whitener)[0] = np.eye(2)
    np.asarray(learner.radius)[0, : len(radii)] = np.asarray(learner.slack)[0, : len(radii)] = radii
    learner.depth[0], learner.limit[0] = len(radii), 10**6
    set_coefficients(learner, beta)
    return learner


def set_coefficients(learner: ExactLearner, beta: Any) -> None:
    np.asarray(learner.fits.beta)[np.asarray(learner.problem)[1]] = beta
    np.asarray(learner.white)[np.asarray(learner.problem)[1]] = beta


def enter(learner: ExactLearner, unit: int, psi: Any) -> None:
    """Let a unit come to the second stage with these features."""
    seen = learner.observed
    seen.psi[0] = 1.0
    seen.observe(c.ARRIVED, unit, 0, 0, 0.0)
    seen.observe(c.GIVEN, unit, 0, 0, 0.0)
    seen.psi[:] = np.array(psi, dtype=np.float64)
    seen.observe(c.ARRIVED, unit, 1, 1, 0.0)
    learner.learn(c.ARRIVED, unit, 1)


def measured(seen: Any) -> ExactLearner:
    learner = ExactLearner(seen)
    learner.reserve(seen.capacity)
    learner.relearn()
    return learner
