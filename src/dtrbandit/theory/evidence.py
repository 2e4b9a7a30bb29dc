"""Histories with their Q-functions: what margin and diversity are judged by.

They come from an environment, which knows the true Q, or from a session. A session has estimated Q on units that its
own decisions produced. Such evidence has caveats, which every result repeats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dtrbandit.design.feasibility import Plan, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown, whole
from dtrbandit.engine import Session
from dtrbandit.environments.potential_outcomes import (
    Environment,
    PotentialOutcomes,
    along,
    by_node,
    reached,
    require_environment,
)
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.record.histories import UnitRecord
from dtrbandit.words import counted

UNITS = 20_000

OWN_UNITS = (
    "Q-functions are estimated, on the same units: gaps look wider or narrower than they are",
    "a unit is seen under the arms it was given only: at later stages these are the policy's choices, not a random "
    "sample, and what other arms would have led to counts as never seen, which makes φ and p smaller",
    "an arm that the policy avoids is known where it was given, and elsewhere by the linear model alone",
)


class Visit(NamedTuple):
    """n units at a node of the design's tree.

    Attributes
    ----------
    arms
        The arms that lead there.
    psi, q
        ψ_m(h_m), (n, d_m), and Q_m(h_m, a), (n, K_m), NaN where an arm is infeasible.
    reached
        (n,): which units come there; the others' rows mean nothing.
    """

    arms: Plan
    psi: Array
    q: Array
    reached: Mask

    @property
    def lead(self) -> Array:
        """How much better each arm is than the best other one, (n, K_m); −∞ where it is infeasible."""
        q = np.where(np.isnan(self.q), -np.inf, self.q)
        others = [np.delete(q, arm, axis=1).max(axis=1, initial=-np.inf) for arm in range(q.shape[1])]
        feasible = np.isfinite(q)
        return np.where(feasible, np.where(feasible, q, 0.0) - np.column_stack(others), -np.inf)


@dataclass(frozen=True, eq=False)
class Evidence:
    """n units at every node of a design, with Q-functions; ``caveats`` say what they cannot show."""

    design: Design
    units: int
    visits: tuple[Visit, ...]
    source: str
    caveats: tuple[str, ...] = ()

    def at_stage(self, m: int) -> list[Visit]:
        """Return the visits to the nodes of a stage, counted from 0."""
        return [visit for visit in self.visits if len(visit.arms) == m]

    def __repr__(self) -> str:
        return f"<Evidence of {counted(self.units, 'unit')} from {self.source}>"


def from_units(units: PotentialOutcomes, source: str = "given units") -> Evidence:
    """Return the evidence of units whose true Q-functions are known."""
    if units.q is None:
        raise DesignError(f"{source} does not know its Q-functions; margin and diversity are about these")
    design, brought, visits = units.design, by_node(units), []
    for node, through in enumerate(reached(brought.enters, design.tree).T):
        arms = design.tree.arms_to[node]
        psi = brought.features[:, node, : design.dimensions[len(arms)]]
        visits.append(Visit(arms, psi, along(units.q[len(arms)], arms), through))
    return Evidence(design, len(units.outcome), tuple(visits), source)


def from_environment(environment: Environment, rng: np.random.Generator, *, units: int = UNITS) -> Evidence:
    """Draw units from an environment that knows its Q-functions."""
    n = whole(units, "from_environment: units", low=1)
    return from_units(environment.draw(n, rng), source=f"{environment!r}")


def from_session(session: Session) -> Evidence:
    """Return the evidence of a session's own units and its Q̂, with caveats; a ProtocolError until there is a Q̂.

    Examples
    --------
    >>> import dtrbandit as dtr
    >>> design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
    >>> session = dtr.Session(design, dtr.DTRBandit(q=1, delta=0.5))
    >>> for i in range(8):
    ...     arm = session.enroll(f"u{i}", {"x": i / 8}).arm
    ...     session.complete(f"u{i}", i if arm == "a" else 4 - i)
    >>> from_session(session)
    <Evidence of 8 units from a session of 8 units>
    """
    _require_hat(session)
    design, records = session.design, _records(session)
    hat = [np.full((k, d), np.nan) for k, d in zip(design.arm_counts, design.dimensions, strict=True)]
    for value in session.coefficients():
        m = design.stage_number(value.stage)
        term = design.parsed[m].features.names.index(value.term)
        hat[m][design.stages[m].arms.index(value.arm), term] = value.hat
    nodes = design.tree.arms_to[: len(design.tree.child)]
    visits = tuple(_visit(design, records, arms, hat[len(arms)]) for arms in nodes)
    return Evidence(design, len(records), visits, f"a session of {counted(len(records), 'unit')}", OWN_UNITS)


def evidence_of(source: Environment | Evidence, rng: np.random.Generator | None, units: int) -> Evidence:
    """Return evidence as it is, or draw it from an environment."""
    if isinstance(source, Evidence):
        return source
    if isinstance(source, Session):
        raise DesignError("a session's own data carry caveats; say from_session(session) to use them")
    require_environment(source, "an estimate that is given no evidence")
    if not isinstance(rng, np.random.Generator):
        raise DesignError(f"to draw from an environment give rng=np.random.default_rng(0) or so, found {shown(rng)}")
    return from_environment(source, rng, units=units)


def _require_hat(session: Session) -> None:
    """Refuse a session in which an arm has no Q̂ yet: it would look like one that is worse everywhere."""
    missing = [str(gap) for gap in session.summary().gaps if gap.estimate == "hat"]
    if missing:
        raise ProtocolError(f"from_session: Q̂ is not determined yet by {session!r}; missing: {'; '.join(missing)}")


def _records(session: Session) -> list[UnitRecord]:
    return [record for record in session.histories if record.voided is None]


def _visit(design: Design, records: Iterable[UnitRecord], arms: Plan, hat: Array) -> Visit:
    """Return the units that were given these arms and then entered the next stage."""
    m, records = len(arms), list(records)
    reached = np.array([unit.history.arms[:m] == arms and len(unit.history.arms) > m for unit in records], dtype=bool)
    came = [unit for unit, here in zip(records, reached, strict=True) if here]
    known = [name for columns in design.columns[: m + 1] for name in columns]
    merged = [{name: value for context in unit.contexts[: m + 1] for name, value in context.items()} for unit in came]
    columns = {name: np.array([row[name] for row in merged]) for name in known}
    given = {design.stages[k].name: np.full(len(came), arm) for k, arm in enumerate(arms)}
    psi = np.zeros((len(records), design.dimensions[m]))
    psi[reached] = design.parsed[m].features.matrix(columns, given, len(came))
    node, own = design.tree.after(arms), [unit.history.excluded[m : m + 1] for unit in records]  # on arrival
    feasible = np.array([arms_left(design.tree, *each)[node] if each else design.tree.feasible[node] for each in own])
    return Visit(arms, psi, np.where(feasible, psi @ hat.T, np.nan), reached)
