"""Compiled and plain modules lead to the same bits: in sessions, in studies and in replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ParamSpec

import numpy as np
import pytest

import dtrbandit as dtr
from courses import DESIGNS as DESIGNS_OF_TRIALS
from digest_worlds import Leaving, ThreeStages
from dtrbandit.build import PLAIN, states
from effort import seeded
from plain_process import PlainProcess, plain_process
from policies.states import every_policy
from random_runs import DESIGNS, Bits, renamed_bits, replay_bits, session_bits, study_bits

Given = ParamSpec("Given")
WORLDS: list[Leaving | ThreeStages] = [Leaving(), ThreeStages()]
TRIALS = [DESIGNS_OF_TRIALS[name] for name in ("leavers", "three stages")]
KINDS = len(every_policy(DESIGNS[0]))


@pytest.fixture(scope="module")
def process() -> Iterator[PlainProcess]:
    """One process for all tests of this file."""
    with plain_process() as child:
        yield child


def different(process: PlainProcess, run: Callable[Given, Bits], *given: Given.args, **more: Given.kwargs) -> list[str]:
    """Return the names of what differs between here and a process with plain modules."""
    asked = process.ask(run, *given, **more)
    here, there = run(*given, **more), asked.result()
    assert list(here) == list(there)
    return [name for name in here if here[name] != there[name]]


def test_modules_are_plain_in_the_other_process(process: PlainProcess) -> None:
    there = process.ask(states).result()

    assert "dtrbandit.policies.state" in there
    assert there == dict.fromkeys(states(), PLAIN)


@seeded(60)
def test_sessions_are_the_same_bit_for_bit(process: PlainProcess, seed: int) -> None:
    """Every kind of policy has its turn."""
    rng = np.random.default_rng(seed)
    design = DESIGNS[rng.integers(len(DESIGNS))]
    policy, units = every_policy(design)[seed % KINDS], int(rng.integers(10, 40))

    assert different(process, session_bits, design, policy, seed, units) == []


@seeded(12)
def test_policies_that_hold_one_and_call_any_decision_forced_are_the_same_bit_for_bit(
    process: PlainProcess, seed: int
) -> None:
    policy = every_policy(DESIGNS[2])[seed % KINDS]

    assert different(process, renamed_bits, policy, seed) == []


@seeded(60)
def test_studies_are_the_same_bit_for_bit(process: PlainProcess, seed: int) -> None:
    world = WORLDS[np.random.default_rng(seed).integers(2)]
    policy = every_policy(world.design)[seed % KINDS]

    assert different(process, study_bits, world, policy, seed, 40) == []


@seeded(60)
def test_replays_are_the_same_bit_for_bit(process: PlainProcess, seed: int) -> None:
    design = TRIALS[np.random.default_rng(seed).integers(2)]
    policy = every_policy(design)[seed % KINDS]

    assert different(process, replay_bits, design, policy, seed) == []


def test_a_difference_is_found_and_named(process: PlainProcess) -> None:
    given = (DESIGNS[1], dtr.Greedy(), 3)
    there = process.ask(session_bits, *given, 21).result()
    here = session_bits(*given, 22)

    assert {"log", "observed.units"} <= {name for name in here if here[name] != there[name]}
