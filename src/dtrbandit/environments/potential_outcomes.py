"""Potential outcomes: what would happen to each unit under each plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Plan, Tree
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.words import counted


class PotentialOutcomes(NamedTuple):
    """n units, drawn before any policy acts (paper, section 2.1).

    Attributes
    ----------
    contexts
        ``contexts[m][column]`` is (n, K₁, …, K_{m−1}).
    outcome
        (n, K₁, …, K_M); NaN where infeasible.
    q
        ``q[m]`` is the true Q-function, (n, K₁, …, K_m), or None where it is not known.
    excluded
        ``excluded[m]`` (n, K_m) says which arms are contraindicated for each unit, as is known when it enrols; None
        where none is. ``q`` is then that of the best regime that each unit can have.
    """

    design: Design
    contexts: tuple[Mapping[str, Array], ...]
    outcome: Array
    q: tuple[Array, ...] | None
    excluded: tuple[Mask, ...] | None = None


class Environment(Protocol):
    """A source of units."""

    @property
    def design(self) -> Design:
        """The design under which it draws."""

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units."""


def require_environment(environment: object, who: str) -> None:
    """Refuse what is no environment; the message says that ``who`` needs one."""
    draws = callable(getattr(environment, "draw", None)) and not isinstance(environment, type)
    if not draws or not isinstance(getattr(environment, "design", None), Design):
        raise DesignError(
            f"{who} needs an environment such as Synthetic(), with a design and draw(n, rng), "
            f"found {shown(environment)}"
        )


@runtime_checkable
class LinearEnvironment(Environment, Protocol):
    """A source of units whose Q-functions are exactly linear in the features (label "assumption: bounded")."""

    @property
    def coefficients(self) -> tuple[Array, ...]:
        """The true coefficients of each stage, (K_m, d_m)."""

    @property
    def optimal_value(self) -> float:
        """The mean outcome of the optimal regime, E max_a Q₁."""


def units_first(values: Array) -> Array:
    """Return (…, n) as a view (n, …), in which the values of one plan stay together in memory."""
    return np.moveaxis(values, -1, 0)


def along(values: Array, arms: Plan) -> Array:
    """Return the values after the given arms, (n, …), of all values (n, K₁, …)."""
    for arm in arms:
        values = values[:, arm]
    return values


def observed(units: PotentialOutcomes, arms: Plan) -> dict[str, Array]:
    """Return the columns known on arrival after the given arms, (n,) each."""
    return {
        column: along(values, arms[:k])
        for k, context in enumerate(units.contexts[: len(arms) + 1])
        for column, values in context.items()
    }


def nodes(design: Design) -> Iterator[Plan]:
    """Give the arms that lead to each arrival, feasible or not, stage by stage."""
    for m in range(len(design.stages)):
        yield from product(*map(range, design.arm_counts[:m]))


def leavers(units: PotentialOutcomes) -> dict[Plan, Mask]:
    """Return, for the arms that lead to each feasible arrival, which units have left there or before, (n,)."""
    left: dict[Plan, Mask] = {(): np.zeros(len(units.outcome), dtype=np.bool_)}
    for arms in nodes(units.design):
        condition = units.design.parsed[len(arms)].condition
        if arms and units.design.tree.after(arms) >= 0:
            before = left[arms[:-1]]
            left[arms] = before if condition is None else before | ~condition.mask(observed(units, arms))
    return left


# -- by node of the tree ----------------------------------------------------------------------------------------


class ByNode(NamedTuple):
    """What n units would have at each node of the tree: their features on arrival, or their outcome.

    Attributes
    ----------
    features, enters
        (n, inner nodes, D) and (n, inner nodes): the features on arrival, and whether the unit enters. A stage with
        fewer than D features is filled up with NaN. A unit that leaves with an incomplete context has NaN throughout.
    leaf
        (nodes,): the column of ``outcome`` for a unit that ends at the node.
    outcome
        (n, plans).
    """

    features: Array
    enters: Mask
    leaf: NDArray[np.int64]
    outcome: Array


def by_node(units: PotentialOutcomes, design: Design | None = None) -> ByNode:
    """Look up what each unit has at each node; ``design`` is the learner's, by default the units' own.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> table = by_node(Synthetic().draw(5, np.random.default_rng(0)))
    >>> table.features.shape, table.outcome.shape, table.leaf.tolist()
    ((5, 3, 2), (5, 4), [0, 0, 2, 0, 1, 2, 3])
    """
    design = design or units.design
    n, inner, plans = len(units.outcome), len(design.tree.child), design.arm_plans
    features = np.empty((n, inner, max(design.dimensions)))
    enters, leaf = np.ones((n, inner), dtype=np.bool_), np.zeros(inner + len(plans), dtype=np.int64)
    for node, arms in enumerate(design.tree.arms_to[:inner]):
        m, columns = len(arms), observed(units, arms)
        given = {design.stages[k].name: np.full(n, arm) for k, arm in enumerate(arms)}
        arrival = design.parsed[m]
        for j, values in enumerate(arrival.features.matrix(columns, given, n).T):  # not whole rows, which are short
            features[:, node, j] = values
        features[:, node, design.dimensions[m] :] = np.nan
        if arrival.condition is not None:
            enters[:, node] = arrival.condition.mask(columns)
            for name in arrival.columns:  # a leaver whose context is not whole has no features
                features[np.isnan(columns[name]), node] = np.nan
        leaf[node] = next(p for p, plan in enumerate(plans) if plan[:m] == arms)
    leaf[inner:] = np.arange(len(plans))
    return ByNode(features, enters, leaf, np.column_stack([along(units.outcome, plan) for plan in plans]))


def reached(enters: Mask, tree: Tree) -> Mask:
    """Return who enters each node and all before it, (n, inner nodes), if given the arms that lead there."""
    entered = enters.copy()
    for node, parent in enumerate(tree.parents[: len(tree.child)]):
        if parent >= 0:
            entered[:, node] &= entered[:, parent]
    return entered


# -- checks -----------------------------------------------------------------------------------------------------


def checked(units: PotentialOutcomes) -> PotentialOutcomes:
    """Return the units, or say what is wrong with them.

    Shapes and columns must be those of the design. What is infeasible must be NaN. What can be observed must be
    finite: all columns of a unit that enters, and those of ``enter_if`` of a unit that leaves early. Later contexts and
    Q-functions of a unit that has left may be anything. Its outcome must be the same whatever arms would follow.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> units = Synthetic().draw(3, np.random.default_rng(0))
    >>> checked(units) is units
    True
    >>> checked(units._replace(outcome=units.outcome[:, 0]))
    Traceback (most recent call last):
    dtrbandit.errors.DesignError: potential outcomes: outcome has shape (3, 2), the design asks for (3, 2, 2)
    """
    require_units(units)
    check_shapes(units)
    _check_types(units)
    left = leavers(units)
    for arms in nodes(units.design):
        if arms in left:
            _check_arrival(units, arms, left)
        else:
            for column, values in units.contexts[len(arms)].items():
                found = along(values, arms)
                _require(np.isnan(found), found, f"column {column!r}", arms, "NaN: infeasible")
    for plan in product(*map(range, units.design.arm_counts)):
        _check_values(units.outcome, "outcome", plan, units.design)
    return units


def require_units(units: object) -> None:
    """Refuse what is not made of the parts of potential outcomes; shapes and values are not looked at."""
    if not isinstance(units, PotentialOutcomes):
        raise DesignError(
            f"draw(n, rng) must return PotentialOutcomes(design, contexts, outcome, q), found {shown(units)}"
        )
    if not isinstance(units.design, Design):
        raise DesignError(f"potential outcomes: design must be a Design, found {shown(units.design)}")
    contexts, q = units.contexts, units.q
    if not isinstance(contexts, tuple | list) or not all(isinstance(context, Mapping) for context in contexts):
        raise DesignError(f"potential outcomes: contexts must be a mapping for each stage, found {shown(contexts)}")
    if q is not None and not isinstance(q, tuple | list):
        raise DesignError(f"potential outcomes: q must be an array for each stage, or None, found {shown(q)}")
    for what, values in _arrays(units):
        if not isinstance(values, np.ndarray):
            raise DesignError(f"potential outcomes: {what} must be a numpy array, found {shown(values)}")


def _arrays(units: PotentialOutcomes) -> list[tuple[str, Array]]:
    columns = [(f"column {column!r}", values) for context in units.contexts for column, values in context.items()]
    return [*columns, ("outcome", units.outcome), *((f"q[{m}]", values) for m, values in enumerate(units.q or ()))]


def check_shapes(units: PotentialOutcomes) -> None:
    """Refuse units whose columns or shapes are not those of their design; values are not checked."""
    design, n = units.design, len(units.outcome)
    counts = design.arm_counts
    found = tuple(tuple(context) for context in units.contexts)
    if [set(columns) for columns in found] != [set(columns) for columns in design.columns]:
        raise DesignError(f"potential outcomes: columns are {shown(found)}, the design has {shown(design.columns)}")
    for m, context in enumerate(units.contexts):
        for column, values in context.items():
            _check_shape(values, f"column {column!r}", (n, *counts[:m]))
    _check_shape(units.outcome, "outcome", (n, *counts))
    if units.q is not None and len(units.q) != len(counts):
        raise DesignError(f"potential outcomes: q has {len(units.q)} stages, the design has {len(counts)}")
    for m, values in enumerate(units.q or ()):
        _check_shape(values, f"q[{m}]", (n, *counts[: m + 1]))
    if units.excluded is not None and len(units.excluded) != len(counts):
        raise DesignError(
            f"potential outcomes: excluded has {len(units.excluded)} stages, the design has {len(counts)}"
        )
    for m, excluded in enumerate(units.excluded or ()):
        _check_shape(excluded, f"excluded[{m}]", (n, counts[m]))
        if excluded.dtype != np.bool_:
            raise DesignError(f"potential outcomes: excluded[{m}] holds {excluded.dtype}, allowed is bool")


def _check_shape(values: Array | Mask, what: str, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise DesignError(f"potential outcomes: {what} has shape {values.shape}, the design asks for {shape}")


def _check_types(units: PotentialOutcomes) -> None:
    for what, values in _arrays(units):
        if values.dtype != np.float64:
            raise DesignError(f"potential outcomes: {what} holds {values.dtype}, allowed is float64: use astype(float)")


def _check_arrival(units: PotentialOutcomes, arms: Plan, left: Mapping[Plan, Mask]) -> None:
    """Check what is observed on a feasible arrival, and the outcomes of units that leave there."""
    m, gone, design = len(arms), left[arms], units.design
    condition = design.parsed[m].condition
    for column, values in units.contexts[m].items():
        needed = condition is not None and column in condition.columns
        passed = left[arms[:-1]] if needed and arms else gone
        found = along(values, arms)
        _require(passed | np.isfinite(found), found, f"column {column!r}", arms, "finite")
    if units.q is not None:
        for arm in range(design.arm_counts[m]):
            _check_values(units.q[m], f"q[{m}]", (*arms, arm), design, passed=gone)
    if gone.any():
        plans = [plan for plan in design.arm_plans if plan[:m] == arms]
        outcomes = np.stack([along(units.outcome, plan) for plan in plans])
        same = (outcomes == outcomes[0]).all(axis=0)
        allowed = f"the same for every plan: it leaves before stage {design.stages[m].name!r}"
        _require(~gone | same, outcomes.T, "outcome", arms, allowed)


def _check_values(values: Array, what: str, arms: Plan, design: Design, *, passed: Mask | None = None) -> None:
    found = along(values, arms)
    if design.tree.after(arms) < 0:
        _require(np.isnan(found), found, what, arms, "NaN: infeasible")
    else:
        finite = np.isfinite(found)
        _require(finite if passed is None else passed | finite, found, what, arms, "finite")


def _require(holds: Mask, found: Array, what: str, arms: Plan, allowed: str) -> None:
    if not holds.all():
        unit, wrong = int(np.argmin(holds)), int((~holds).sum())
        others = "" if wrong == 1 else f" (and likewise {counted(wrong - 1, 'other')} of {len(holds):,})"
        raise DesignError(
            f"potential outcomes: {what} of unit {unit} after arms {arms} must be {allowed}, "
            f"found {shown(found[unit].tolist())}{others}"
        )
