"""Random runs of sessions, studies and replays, and all bits that they lead to: compiled or plain, as modules are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import dtrbandit as dtr
from courses import finished_trial
from digest_worlds import Leaving, Quarterly, ThreeStages
from dtrbandit.courses import play, potential_courses
from dtrbandit.evaluation import EqualWeights, SmallCohort
from dtrbandit.policies import Choice, Policy, UnscaledOutcomes
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.record import History
from dtrbandit.record.events import ArmClosed
from policies.states import bits

Bits = dict[str, object]  # by name; equal if they are equal bit for bit

ARMS, THREE = ("a", "b"), ("a", "b", "c")
DESIGNS = [
    dtr.Design([dtr.Stage("only", THREE, "1 + x")]),
    dtr.Design([dtr.Stage("first", ARMS, "1 + x"), dtr.Stage("second", THREE, "1 + x + z", enter_if="r > -1")]),
    dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + x + y"),
            dtr.Stage("second", ARMS, "1 + x + z + y + C(first)", enter_if="r > -1"),
            dtr.Stage("third", ARMS, "1 + z"),
        ]
    ),
]
EXTREME = (0.0, -0.0, 1.0, 1e-12, 1e9)  # so that ranks are lacking, and columns of unlike size


# -- sessions ----------------------------------------------------------------------------------------------------


def session_bits(design: dtr.Design, policy: BuiltinPolicy, seed: int, units: int) -> Bits:
    """Return the log of a random session, and all that the policy knows at the end."""
    session = random_session(design, policy, seed, units)
    return {"log": list(map(repr, session.log)), **bits(session._belief.state)}


def random_session(design: dtr.Design, policy: Policy[Any], seed: int, units: int) -> dtr.Session:
    """Return a session in which units overlap, leave, are lost, and are amended."""
    rng, session = np.random.default_rng(seed), dtr.Session(design, policy, seed=seed)
    columns = [tuple(stage_columns) for stage_columns in design.columns]
    waiting: list[tuple[str, int]] = []
    for number in range(units):
        unit = f"u{number}"
        session.enroll(unit, draw(rng, columns[0]))
        waiting.append((unit, 1))
        while waiting and rng.random() < 0.7:
            advance(session, waiting, columns, rng)
        if rng.random() < 0.1:
            amend(session, f"u{rng.integers(number + 1)}", design, rng)
    return session


class Renamed:
    """A policy that holds a built-in one, and calls its decisions forced or not, whatever they are."""

    def __init__(self, policy: BuiltinPolicy, forced: tuple[bool, ...]) -> None:
        self.policy, self.forced = policy, forced
        self.init, self.update = policy.init, policy.update

    def decide(self, state: Any, history: History, u: float) -> Choice:
        forced = self.forced[(3 * history.round + len(history.arms)) % len(self.forced)]
        return self.policy.decide(state, history, u)._replace(reason="forced" if forced else "rule")


def renamed_bits(policy: BuiltinPolicy, seed: int) -> Bits:
    """Return what a policy knows after a session, if its decisions at three stages are renamed."""
    forced = tuple(np.random.default_rng(seed).integers(2, size=6).astype(bool).tolist())
    return {**bits(random_session(DESIGNS[2], Renamed(policy, forced), seed, 40)._belief.state)}


def draw(rng: np.random.Generator, columns: tuple[str, ...]) -> dict[str, float]:
    """Return a context: ordinary numbers, and now and then others."""
    return {name: float(rng.choice(EXTREME) if rng.random() < 0.1 else rng.normal()) for name in columns}


def advance(
    session: dtr.Session, waiting: list[tuple[str, int]], columns: list[tuple[str, ...]], rng: np.random.Generator
) -> None:
    """Bring one unit a step further."""
    unit, stage = waiting.pop(int(rng.integers(len(waiting))))
    if rng.random() < 0.05:
        session.withdraw(unit, reason="moved")
    elif stage < len(columns) and session.respond(unit, draw(rng, columns[stage])) is not None:
        waiting.append((unit, stage + 1))
    else:
        session.complete(unit, float(rng.normal()))


def amend(session: dtr.Session, unit: str, design: dtr.Design, rng: np.random.Generator) -> None:
    """Correct a context or override an arm, where the protocol allows it."""
    stage = design.stages[0]
    try:
        if rng.random() < 0.5:
            session.override(unit, stage.arms[int(rng.integers(2))], reason="slip", stage=stage.name)
        else:
            session.correct(unit, reason="slip", stage=stage.name, context={"x": float(rng.normal())})
    except dtr.ProtocolError:
        return


# -- studies and replays -----------------------------------------------------------------------------------------


def study_bits(world: Leaving | ThreeStages, policy: BuiltinPolicy, seed: int, units: int) -> Bits:
    """Return arms, reasons and all that a policy knows after a study with late responses and a closed arm."""
    drawn, stages = world.draw(units, np.random.default_rng(seed)), len(world.design.stages)
    events = Quarterly(3).events(units, stages, np.random.default_rng(seed))
    closings = [(units // 2, ArmClosed("second", "a", "harm"))]
    played = play(policy, potential_courses(drawn, events=events), world.design, seed=seed, closings=closings)
    return {"arms": played.arms.tobytes(), "reasons": played.reasons.tobytes(), **bits(played.state)}


def replay_bits(design: dtr.Design, policy: BuiltinPolicy, seed: int) -> Bits:
    """Return the rows that a replay on a finished trial accepts, and what they say."""
    cohort = finished_trial(design, 200, seed=5)
    with warnings.catch_warnings():
        for expected in (EqualWeights, SmallCohort, UnscaledOutcomes):
            warnings.simplefilter("ignore", expected)
        found = dtr.replay(policy, cohort, horizon=10, paths=2, seed=seed)
    arrays: dict[str, Any] = {name: getattr(found, name) for name in ("rows", "arms", "outcomes", "draws")}
    return {name: array.tobytes() for name, array in arrays.items()}
