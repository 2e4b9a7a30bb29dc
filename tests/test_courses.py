"""One rule, two drivers: a study's loop and a Session agree bit for bit, and both with the plain refit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.courses import Played, at_once, play, potential_courses
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.teaching import lessons_of
from dtrbandit.record.events import ArmClosed
from dtrbandit.record.teaching import histories_of
from plain.least_squares import least_squares
from policies.states import differences, every_policy
from small_taught import earlier_trial


def three_stages(n: int) -> PotentialOutcomes:
    """Draw units under an irregular tree, with early leavers before the second and the third stage."""
    rng = np.random.default_rng(8)
    arms = ("a", "b"), ("x", "y", "z"), ("1", "2")
    design = dtr.Design(
        [
            dtr.Stage("first", arms[0], "1 + x1"),
            dtr.Stage("second", arms[1], "1 + x1 + x2 + C(first)", enter_if="x2 > -1"),
            dtr.Stage("third", arms[2], "1 + x3", enter_if="x3 < 1.2 or x1 > 0"),
        ],
        plans=[plan for plan in product(*arms) if plan not in {("a", "x", "2"), ("b", "y", "1"), ("b", "y", "2")}],
    )
    shapes = (n,), (n, 2), (n, 2, 3)
    contexts = tuple({f"x{m + 1}": rng.normal(size=shape).round(3)} for m, shape in enumerate(shapes))
    outcome = rng.normal(size=(n, 2, 3, 2)).round(3) + np.arange(2)
    return PotentialOutcomes(design, contexts, outcome, None)


def delayed(n: int, stages: int, seed: int) -> NDArray[np.int32]:
    """Return events in order of time: enrolments one by one, everything else late, some units lost."""
    rng = np.random.default_rng(seed)
    waits = rng.exponential(4.0, size=(n, stages + 1))
    waits[:, 0] = 0.0
    times = np.arange(n)[:, None] + waits.cumsum(axis=1)
    what = np.tile(np.arange(stages + 1), (n, 1))
    lost = rng.random(n) < 0.1
    what[lost, rng.integers(1, stages + 1)] = stages + 1
    order = np.argsort(times, axis=None, kind="stable")
    events = np.column_stack([what.ravel()[order], np.repeat(np.arange(n), stages + 1)[order]])
    return events.astype(np.int32)


def exclusions(units: PotentialOutcomes, unit: int) -> dict[str, Any]:
    """Return what is said of a unit's contraindications when it enrols."""
    masks = zip(units.design.stages, units.excluded or (), strict=bool(units.excluded))
    exclude = {stage.name: [arm for a, arm in enumerate(stage.arms) if mask[unit, a]] for stage, mask in masks}
    return {"exclude": exclude, "reason": "allergy"} if any(exclude.values()) else {}


def drive(
    session: dtr.Session,
    units: PotentialOutcomes,
    events: NDArray[np.int32],
    closings: Sequence[tuple[int, ArmClosed]] = (),
) -> NDArray[np.int8]:
    """Let the same events happen to a Session, and return the arms."""
    to_close = list(closings)
    design, stages = units.design, len(units.design.stages)
    arms = np.full((len(units.outcome), stages), -1, dtype=np.int8)
    ended: set[int] = set()
    left: set[int] = set()
    for what, unit in events.tolist():
        path = tuple(int(a) for a in arms[unit] if a >= 0)
        if unit in ended or (unit in left and what < stages):
            continue
        if what < stages:
            context = {name: float(values[(unit, *path)]) for name, values in units.contexts[what].items()}
            if what == 0:
                while to_close and to_close[0][0] <= unit + 1:
                    session.believe(session.answer(dtr.CloseArm(*to_close.pop(0)[1])))
                decision: Any = session.enroll(f"u{unit}", context, **exclusions(units, unit))
            else:
                decision = session.respond(f"u{unit}", context)
            if decision is None:
                left.add(unit)
            else:
                arms[unit, what] = design.stages[what].arms.index(decision.arm)
        elif what == stages:
            leaf = next(plan for plan in design.arm_plans if plan[: len(path)] == path)
            session.complete(f"u{unit}", float(units.outcome[(unit, *(path if len(path) == stages else leaf))]))
            ended.add(unit)
        else:
            session.withdraw(f"u{unit}", reason="lost")
            ended.add(unit)
    return arms


def policies(design: dtr.Design) -> list[BuiltinPolicy]:
    """Return every built-in policy, and one with numbers that round."""
    return [*every_policy(design), dtr.LSVIUCB(beta=0.7, leavers="optimistic", clip=9.0, scale=1.7)]


SYNTHETIC = Synthetic().draw(300, np.random.default_rng(5))
WORLDS = {"two stages": SYNTHETIC, "three stages": three_stages(250)}


@pytest.mark.parametrize("delay", [False, True], ids=["at once", "delayed"])
@pytest.mark.parametrize("number", range(len(policies(SYNTHETIC.design))))
@pytest.mark.parametrize("world", WORLDS)
def test_both_drivers_give_the_same_arms_and_bits(world: str, number: int, delay: bool) -> None:
    units = WORLDS[world]
    policy = policies(units.design)[number]
    n, stages = len(units.outcome), len(units.design.stages)
    events = delayed(n, stages, seed=number) if delay else at_once(n, stages)
    session = dtr.Session(units.design, policy, seed=9)

    arms = drive(session, units, events)
    played = play(policy, potential_courses(units, events=events), units.design, seed=9)

    assert np.array_equal(played.arms, arms)
    assert differences(session._belief.state, played.state) == []
    assert differences(dtr.Session.resume(session.log)._belief.state, session._belief.state) == []


def masked(units: PotentialOutcomes, n: int) -> PotentialOutcomes:
    """Return the first n units, for a third of whom some arms are contraindicated."""
    rng, counts = np.random.default_rng(n), units.design.arm_counts
    some = rng.random(n) < 0.35
    excluded = [(rng.random((n, k)) < 0.3) & some[:, None] for k in counts]
    left = np.zeros((n, counts[0]), dtype=np.bool_)  # whether a plan goes on from each first arm
    for plan in units.design.arm_plans:
        if plan[1] != counts[1] - 1:  # which is closed
            left[:, plan[0]] |= ~np.any(
                [mask[:, arm] for mask, arm in zip(excluded[1:], plan[1:], strict=True)], axis=0
            )
    for mask in excluded:
        mask[~left.all(axis=1) | excluded[0][:, 0]] = False
    contexts = tuple({name: values[:n] for name, values in context.items()} for context in units.contexts)
    return units._replace(contexts=contexts, outcome=units.outcome[:n], q=None, excluded=tuple(excluded))


@pytest.mark.parametrize("number", range(len(policies(SYNTHETIC.design))))
@pytest.mark.parametrize("world", WORLDS)
def test_both_drivers_agree_on_units_with_contraindications_while_arms_are_closed(world: str, number: int) -> None:
    units = masked(WORLDS[world], 120)
    design, stages = units.design, len(units.design.stages)
    second = design.stages[1]
    closings = [
        (41, ArmClosed("second", second.arms[-1], "harm")),
        (80, ArmClosed("first", design.stages[0].arms[1], "cost")),
    ]
    policy = policies(design)[number]
    events = delayed(120, stages, seed=number)
    session = dtr.Session(design, policy, seed=9)

    arms = drive(session, units, events, closings)
    played = play(policy, potential_courses(units, events=events), design, seed=9, closings=closings)

    assert np.array_equal(played.arms, arms)
    assert differences(session._belief.state, played.state) == []
    assert differences(dtr.Session.resume(session.log)._belief.state, session._belief.state) == []
    dtr.verify(session.log)
    assert units.excluded is not None
    for m in range(2):
        assert not units.excluded[m][np.arange(120), arms[:, m]][arms[:, m] >= 0].any()
    assert (arms[79:, 0] == 0).all()
    assert sum(mask.any(axis=1) for mask in units.excluded).astype(bool).sum() > 10  # type: ignore[union-attr]


@pytest.mark.parametrize("number", range(len(policies(SYNTHETIC.design))))
@pytest.mark.parametrize("world", WORLDS)
def test_both_drivers_give_the_same_bits_after_an_earlier_trial(world: str, number: int) -> None:
    units = WORLDS[world]
    design, policy = units.design, policies(units.design)[number]
    events, prior = delayed(len(units.outcome), len(design.stages), seed=number), earlier_trial(design, 70, seed=3)
    session = dtr.Session(design, policy, seed=9, prior=prior)

    arms = drive(session, units, events)
    lessons = lessons_of(design, histories_of(prior, design))
    played = play(policy, potential_courses(units, events=events), design, seed=9, lessons=lessons)

    assert np.array_equal(played.arms, arms)
    assert differences(session._belief.state, played.state) == []
    assert differences(dtr.Session.resume(session.log)._belief.state, session._belief.state) == []


def test_some_units_leave_are_lost_and_wait_in_these_worlds() -> None:
    units = WORLDS["three stages"]
    events = delayed(250, 3, seed=1)

    arms = play(dtr.UniformRandom(), potential_courses(units, events=events), units.design).arms

    entered = (arms >= 0).sum(axis=0)
    assert 250 == entered[0] > entered[1] > entered[2] > 50
    assert (np.diff(events[:, 1]) < 0).any()


def refitted(state: Any) -> list[list[NDArray[np.float64] | None]]:
    """Return the plain refit on what a learner has stored, straight from section 3.1."""
    design, n = state.design, state.observed.units
    child = np.asarray(state.observed.child)
    nodes, arms, psi, last, outcome = (
        np.asarray(getattr(state.observed, name))[:n] for name in ("nodes", "arms", "features", "last", "outcome")
    )
    fits: list[list[NDArray[np.float64] | None]] = []
    for m in reversed(range(len(design.stages))):
        target = np.where(last == m, outcome, np.nan)
        if fits:
            features = psi[:, m + 1, : design.dimensions[m + 1]]
            q = np.full((n, design.arm_counts[m + 1]), np.nan)
            for arm, beta in enumerate(fits[0]):
                feasible = (nodes[:, m + 1] >= 0) & (child[nodes[:, m + 1], arm] >= 0)
                q[feasible, arm] = np.nan if beta is None else features[feasible] @ beta
            target = np.where(np.isnan(target), np.fmax.reduce(q, axis=1), target)
        own = [np.isfinite(target) & (arms[:, m] == arm) for arm in range(design.arm_counts[m])]
        features = psi[:, m, : design.dimensions[m]]
        fits.insert(0, [least_squares(features[o], target[o]).coefficients if o.any() else None for o in own])
    return fits


def assert_refit(state: Any, tolerance: float) -> None:
    for found, expected in zip(state.estimates().hat, refitted(state), strict=True):
        for beta, plain in zip(found, expected, strict=True):
            assert beta == pytest.approx(
                np.full_like(beta, np.nan) if plain is None else plain, abs=tolerance, nan_ok=True
            )


@pytest.mark.full
def test_a_hundred_thousand_units_agree_with_the_plain_refit_at_200_random_times() -> None:
    """Coefficients are of size 1; flips add and subtract, so that rounding is allowed to reach 1e-9."""
    n = 100_000
    units = potential_courses(Synthetic().draw(n, np.random.default_rng(6)))
    times = np.sort(np.random.default_rng(7).choice(n, 200, replace=False))
    played = Played(dtr.DTRBandit(q=5, delta=0.5), Synthetic().design, n)

    for begin, end in zip([0, *times[:-1]], times, strict=True):
        played.go_on(units._replace(events=units.events[3 * begin : 3 * end]))
        assert_refit(played.state, 1e-9)


def test_unlike_scales_collinear_and_constant_columns_agree_with_the_plain_refit() -> None:
    rng = np.random.default_rng(3)
    stages = [dtr.Stage("s", ("a", "b"), "1 + x + big + twice + same"), dtr.Stage("t", ("a", "b"), "1 + z + large")]
    design = dtr.Design(stages)
    x, z = rng.normal(size=300), rng.normal(size=(300, 2))
    contexts = (
        {"x": x, "big": 1e4 * rng.normal(size=300), "twice": 2 * x, "same": np.ones(300)},
        {"z": z, "large": 1e4 * rng.normal(size=(300, 2))},
    )
    units = PotentialOutcomes(design, contexts, rng.normal(size=(300, 2, 2)) + z[:, :, None], None)

    played = play(dtr.EpsilonGreedy(epsilon=0.3), potential_courses(units), design)

    assert_refit(played.state, 1e-8)


FINGERPRINT = """
import numpy as np, dtrbandit as dtr, hashlib
from dtrbandit.courses import play, potential_courses
from dtrbandit.environments import Synthetic
units = Synthetic().draw(3000, np.random.default_rng(2))
played = play(dtr.DTRBandit(q=2, delta=0.5), potential_courses(units), Synthetic().design, seed=4)
bits = [array.tobytes() for array in (*played.state.estimates().hat, played.arms)]
print(hashlib.sha256(b"".join(bits)).hexdigest())
"""


@pytest.mark.full
def test_the_bits_depend_neither_on_threads_nor_on_the_cpu() -> None:
    environments = [
        {},
        {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3", "OPENBLAS_CORETYPE": "Nehalem"},  # an older processor
    ]

    said = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT], env={**os.environ, **each}, capture_output=True, text=True, check=True
        ).stdout
        for each in environments
    }

    assert len(said) == 1
    assert len(said.pop().strip()) == 64


def test_a_policy_that_holds_a_function_is_sent_to_a_session() -> None:
    with pytest.raises(dtr.DesignError, match="Session"):
        play(dtr.FixedRegime(rule=lambda _: "1"), potential_courses(SYNTHETIC), Synthetic().design)


@pytest.mark.parametrize("event", [(0, 5), (0, -1), (4, 0), (-1, 0)], ids=str)
def test_events_of_units_that_are_not_there_are_refused(event: tuple[int, int]) -> None:
    units = Synthetic().draw(5, np.random.default_rng(0))
    courses = potential_courses(units, events=np.array([(0, 0), event], dtype=np.int32))

    with pytest.raises(dtr.DesignError, match="events must be pairs of 0 to 3 and a unit below 5"):
        play(dtr.Greedy(), courses, Synthetic().design)


def test_units_of_another_design_are_refused() -> None:
    courses = potential_courses(Synthetic().draw(5, np.random.default_rng(0)))
    wider = dtr.Design([dtr.Stage(stage.name, stage.arms, "1 + x1 + x2") for stage in Synthetic().design.stages])

    with pytest.raises(dtr.DesignError, match="units are of another design"):
        play(dtr.Greedy(), courses, wider)
