"""Plain kernels and machine code give the same bits, and so does a switch between any two calls."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.policies.policy import Policy
from effort import scaled
from kernel_modes import compiled, plain, switched

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
POLICIES: list[Policy[Any]] = [
    dtr.DTRBandit(q=1, delta=0.5),
    dtr.DTRBandit(q=2, delta=1.0, schedule="permuted"),
    dtr.EpsilonGreedy(epsilon=0.3),
    dtr.Greedy(),
    dtr.Greedy(floor=0.2),
    dtr.DTRBandit(q=1, delta=0.5, floor=0.1),
    dtr.LSVIUCB(beta=0.5),
    dtr.LSVIUCB(beta=0.5, leavers="optimistic", switching="rare", clip=3.0),
    dtr.UniformRandom(),
]
COLUMNS = ("x", "y", "z", "r")
EXTREME = (0.0, -0.0, 1.0, 1e-12, 1e9)  # so that ranks are lacking, and columns of unlike size


def draw(rng: np.random.Generator, columns: tuple[str, ...]) -> dict[str, float]:
    """Return a context: ordinary numbers, and now and then others."""
    return {name: float(rng.choice(EXTREME) if rng.random() < 0.1 else rng.normal()) for name in columns}


def play(design: dtr.Design, policy: Policy[Any], seed: int, units: int) -> dtr.Session:
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


def arrays(value: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """Return all arrays of a state, bit for bit."""
    if isinstance(value, np.ndarray):
        return [(value.dtype.str, value.shape, value.tobytes())]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [each for part in value for each in arrays(part)]
    if type(value).__module__.startswith("dtrbandit.") and not isinstance(value, dtr.Design):
        return arrays(value.__getstate__())
    return []


@settings(max_examples=scaled(60))
@given(
    design=st.sampled_from(DESIGNS),
    policy=st.sampled_from(POLICIES),
    seed=st.integers(0, 10**6),
    units=st.integers(1, 40),
    after=st.integers(0, 150),
)
def test_sessions_are_the_same_bit_for_bit_in_every_mode(
    design: dtr.Design, policy: Policy[Any], seed: int, units: int, after: int
) -> None:
    modes: list[AbstractContextManager[None]] = [plain(), compiled(), switched(after)]
    sessions = []
    for mode in modes:
        with mode:
            sessions.append(play(design, policy, seed, units))

    first, *others = sessions
    assert arrays(first._belief.state)
    for other in others:
        assert list(map(repr, other.log)) == list(map(repr, first.log))
        assert arrays(other._belief.state) == arrays(first._belief.state)
