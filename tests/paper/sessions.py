"""Drive the package's Session through a drawn world, and compare it with the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies.policy import Policy
from paper.literal import Arrival, Path, Plan, Values
from paper.worlds import DrawnWorld, arrivals_without_delay

ARMS = ("a", "b", "c", "d")
TIE = 1e-9  # a margin below this share of the values compared would make a comparison meaningless
CLOSE = 1e-7  # how far the two may differ in Q, relative to its size: different roundings of the same fit


@dataclass
class Run:
    """What a session did: the arms of each round and the decisions by (round, stage)."""

    arms: list[Plan] = field(default_factory=list)
    decisions: dict[tuple[int, int], dtr.Decision] = field(default_factory=dict)

    @property
    def reasons(self) -> set[str]:
        return {decision.reason for decision in self.decisions.values()}


def column_names(world: DrawnWorld, m: int) -> list[str]:
    return [f"x{m + 1}_{i + 1}" for i in range(world.contexts[m].shape[-1])]


def design_of(world: DrawnWorld, plans: Sequence[Plan]) -> dtr.Design:
    """Return the design whose features are those of the world; ``r2 > 0`` lets units into the second stage."""
    stages = [
        dtr.Stage(
            f"stage{m + 1}",
            arms=ARMS[: world.outcomes.shape[m + 1]],
            features=" + ".join(["1", *column_names(world, m)]),
            enter_if=f"r{m + 1} > 0" if m > 0 else None,
        )
        for m in range(len(world.contexts))
    ]
    return dtr.Design(stages, plans=[[ARMS[arm] for arm in plan] for plan in plans])


def context_of(world: DrawnWorld, m: int, t: int, arms: Plan) -> dict[str, float]:
    values = map(float, world.features(m, t, arms)[1:])
    context = dict(zip(column_names(world, m), values, strict=True))
    if m > 0:
        context[f"r{m + 1}"] = world.response(t, m, arms)
    return context


def run_session(session: dtr.Session, world: DrawnWorld, arrivals: Sequence[Arrival]) -> Run:
    """Let each arrival (t, m) happen to the session; a unit that left gives its outcome only."""
    taken: dict[int, list[int]] = {}
    left: set[int] = set()
    run = Run()
    for t, m in arrivals:
        arms = tuple(taken.setdefault(t, []))
        if m == len(world.contexts):
            session.complete(f"u{t}", world.outcome(t, arms))
        elif t not in left:
            arrive = session.enroll if m == 0 else session.respond
            decision = arrive(f"u{t}", context_of(world, m, t, arms))
            if decision is None:
                left.add(t)
            else:
                taken[t].append(ARMS.index(decision.arm))
                run.decisions[t, m] = decision
    run.arms = [tuple(taken[t]) for t in sorted(taken)]
    return run


def run_policy(
    policy: Policy[Any],
    world: DrawnWorld,
    plans: Sequence[Plan],
    *,
    seed: int = 0,
    arrivals: Sequence[Arrival] | None = None,
) -> Run:
    """Run a policy over the whole world, without delay unless ``arrivals`` say otherwise."""
    session = dtr.Session(design_of(world, plans), policy, seed=seed)
    if arrivals is None:
        arrivals = arrivals_without_delay(len(world.contexts), units=len(world.outcomes))
    return run_session(session, world, arrivals)


def assert_no_near_ties(path: Path) -> None:
    """Demand that rounding cannot have decided anything, so that every arm must agree."""
    assert path.margins
    assert min(path.margins) > TIE


def assert_same_arms(run: Run, path: Path) -> None:
    """Demand that the session gave every unit the oracle's arms."""
    assert_no_near_ties(path)
    different = [t for t, (ours, theirs) in enumerate(zip(run.arms, path.arms, strict=True), 1) if ours != theirs]
    assert different == []


def assert_same_estimates(run: Run, path: Path) -> None:
    """Demand that every free decision showed the oracle's Q-tilde, Q-hat and contenders."""
    for key, pick in path.picks.items():
        decision = run.decisions[key]
        assert decision.round == key[0]
        assert_same_values(decision.q_tilde, pick.tilde)
        assert_same_values(decision.q_hat, pick.hat)
        assert tuple(decision.contenders) == tuple(ARMS[arm] for arm in pick.contenders)


def assert_same_values(shown: object, expected: Values) -> None:
    assert isinstance(shown, Mapping)
    size = max([abs(value) for value in expected.values() if value is not None], default=0.0)
    for arm, value in expected.items():
        found = shown[ARMS[arm]]
        assert found == (None if value is None else pytest.approx(value, abs=CLOSE * size))
