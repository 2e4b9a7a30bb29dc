"""The contract of an environment: subclass it in your tests and name your environment.

::

    class TestMyEnvironment(EnvironmentContract):
        def environment(self):
            return MyEnvironment()

pytest then finds the tests below. True Q-functions that come with the units must be the means of what follows.
An environment with ``coefficients`` and ``optimal_value`` claims that its Q-functions are exactly linear. Bands are
five standard errors wide. Seeds are fixed, so a test gives the same result on every run.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dtrbandit.courses import potential_courses
from dtrbandit.design.feasibility import Plan
from dtrbandit.environments.potential_outcomes import (
    Environment,
    LinearEnvironment,
    PotentialOutcomes,
    along,
    checked,
    leavers,
    observed,
)
from dtrbandit.kernels.arrays import Array
from dtrbandit.words import counted

FEW = 200
BAND = 5.0  # standard errors
EXACT = 1e-9  # relative to the largest Q


class EnvironmentContract:
    """What every environment must keep; abstract, since it names no environment."""

    units = 50_000  # for the checks of means: the most an environment is asked for at once

    def environment(self) -> Environment:
        """Return the environment under test, the same each time."""
        raise TypeError("an environment contract needs a method environment() that returns the environment under test")

    def test_units_fit_the_design(self) -> None:
        """Shapes and columns are those of the design, and NaN stands only where an arm is infeasible."""
        environment = self.environment()
        for n in (1, FEW):
            units = checked(self._draw(n))

            assert units.design == environment.design
            assert len(units.outcome) == n, f"asked for {counted(n, 'unit')}, found {len(units.outcome)}"

    def test_the_same_generator_gives_the_same_units(self) -> None:
        """Units depend on the generator alone, not on other draws."""
        environment, first = self.environment(), self._draw(FEW)
        environment.draw(FEW, np.random.default_rng(1))

        _assert_equal(environment.draw(FEW, np.random.default_rng(0)), first)

    def test_only_the_given_generator_is_used(self) -> None:
        """The global generators are left alone."""
        before = random.getstate(), copy.deepcopy(np.random.get_state())  # noqa: NPY002  # that is what must stay untouched

        self._draw(FEW)

        after = random.getstate(), np.random.get_state()  # noqa: NPY002  # that is what must stay untouched
        assert repr(after) == repr(before), "draw() used a global generator"

    def test_draws_share_nothing(self) -> None:
        """A later draw leaves earlier units as they were, and a change to units does not reach later draws."""
        environment, rng = self.environment(), np.random.default_rng(0)
        first = environment.draw(FEW, rng)
        kept = copy.deepcopy(first)
        environment.draw(FEW, rng)
        _assert_equal(first, kept)

        for _, values in _arrays(first):
            values[...] = -1.0
        _assert_equal(environment.draw(FEW, np.random.default_rng(0)), kept)

    def test_true_q_functions_are_the_means_of_what_follows(self) -> None:
        """What follows is an outcome, or the best Q of the next stage. Nothing known explains how it differs from Q."""
        for given, arm, psi, curves, error in _errors(self._draw(self.units)):
            fit = _fits(psi, curves)
            standard_errors = np.sqrt(fit**2 @ error**2)
            worst = np.max(np.abs(fit @ error) / (BAND * standard_errors + EXACT), initial=0.0)
            assert worst <= 1, f"q is off after arms {given} for arm {arm}, by {BAND * worst:.1f} standard errors"

    def test_linear_q_functions_are_exactly_linear(self) -> None:
        """Coefficients, where there are any, give q, and the optimal regime has the value that is claimed."""
        environment, units = self.environment(), self._draw(self.units)
        if not isinstance(environment, LinearEnvironment):
            return
        assert units.q is not None, "an environment with coefficients must give q"
        for given, node, rows in _nodes(units):
            m = len(given)
            psi = potential_courses(units).features[rows, node, : units.design.dimensions[m]]
            expected = psi @ environment.coefficients[m].T
            found = along(units.q[m], given)[rows]
            worst = np.nanmax(np.abs(found - expected), initial=0.0)
            assert worst <= EXACT * (1 + np.abs(expected).max(initial=0.0)), f"q[{m}] is not linear, by {worst}"
        best = np.nanmax(units.q[0], axis=1)
        off = abs(best.mean() - environment.optimal_value) / (best.std() / np.sqrt(len(best)) + EXACT)
        assert off <= BAND, f"the optimal value {environment.optimal_value} is off by {off} standard errors"

    def _draw(self, n: int) -> PotentialOutcomes:
        return self.environment().draw(n, np.random.default_rng(0))


def _nodes(units: PotentialOutcomes) -> Iterator[tuple[Plan, int, NDArray[np.int64]]]:
    """Give each node where units are treated: the arms that lead to it, its number, and the units that enter."""
    for given, left in leavers(units).items():
        yield given, units.design.tree.after(given), np.flatnonzero(~left)


def _errors(units: PotentialOutcomes) -> Iterator[tuple[Plan, int, Array, list[Array], Array]]:
    """Give, for each node and feasible arm, what is known and by how much q misses what follows.

    Known are the features, all columns so far and q. Their squares are added so that a curved error is seen too.
    """
    if units.q is None:
        return
    features = potential_courses(units).features
    for given, node, rows in _nodes(units):
        m, columns = len(given), [values[rows] for values in observed(units, given).values()]
        psi = features[rows, node, : units.design.dimensions[m]]
        for arm in np.flatnonzero(units.design.tree.feasible[node]).tolist():
            expected = along(units.q[m], (*given, arm))[rows]
            curves = [power for each in (*columns, expected) for power in (each, each**2)]
            yield given, arm, psi, curves, _following(units, (*given, arm))[rows] - expected


def _fits(psi: Array, curves: list[Array]) -> Array:
    """Return the rows that regress on the features, then a row for what each curve adds to them."""
    features = np.linalg.pinv(psi)
    besides = [curve - psi @ (features @ curve) for curve in curves]
    sizes = [(beside @ beside, curve @ curve) for beside, curve in zip(besides, curves, strict=True)]
    return np.vstack([features, *(b / own for b, (own, of) in zip(besides, sizes, strict=True) if own > EXACT * of)])


def _following(units: PotentialOutcomes, given: Plan) -> Array:
    """Return the outcome of units that end after these arms, and the best Q of the others, (n,)."""
    assert units.q is not None
    plan = next(plan for plan in units.design.arm_plans if plan[: len(given)] == given)
    outcome = along(units.outcome, plan)
    if plan == given:
        return outcome
    feasible = np.flatnonzero(units.design.tree.feasible[units.design.tree.after(given)])
    best = along(units.q[len(given)], given)[:, feasible].max(axis=1)
    return np.where(leavers(units)[given], outcome, best)


def _arrays(units: PotentialOutcomes) -> Iterator[tuple[str, Array]]:
    for context in units.contexts:
        yield from context.items()
    yield "outcome", units.outcome
    yield from ((f"q[{m}]", values) for m, values in enumerate(units.q or ()))


def _assert_equal(found: PotentialOutcomes, expected: PotentialOutcomes) -> None:
    for (name, values), (_, others) in zip(_arrays(found), _arrays(expected), strict=True):
        np.testing.assert_array_equal(values, others, err_msg=f"{name} differs between two draws")
