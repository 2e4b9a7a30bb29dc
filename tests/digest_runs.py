"""Runs of the whole package, by public names alone, and a digest of each thing that they lead to, bit for bit.

``tests/digests.json`` holds what they led to; ``python tests/make_digests.py`` makes it anew and says what changed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

import dtrbandit as dtr
from courses import COURSES, DESIGNS, Call, Course, begun, finished_trial, number, policies
from digest_worlds import Leaving, Quarterly, ThreeStages, row_weights
from dtrbandit.environments import ArrivalProcess, Contraindicated, Environment, Fixed, Synthetic
from dtrbandit.evaluation import EqualWeights, SmallCohort
from dtrbandit.policies import Policy, UnscaledOutcomes
from dtrbandit.record import History

FILE = Path(__file__).with_name("digests.json")
DIGITS = 16  # of a SHA-256: as many as nobody meets by chance
SCHEDULES: tuple[Literal["paper", "permuted"], ...] = ("paper", "permuted")
EVERY = 20  # units after which estimates are looked at

Digests = dict[str, str]  # by quantity
Run = Callable[[], Digests]


# -- digests -----------------------------------------------------------------------------------------------------


def digest_of(items: Iterable[object]) -> str:
    """Return a digest of texts and numbers. A number counts bit for bit; None differs from all numbers."""
    hashed = hashlib.sha256()
    for item in items:
        text = item.hex() if isinstance(item, float) else str(item)
        hashed.update(f"{type(item).__name__} {text}\n".encode())
    digits = hashed.hexdigest()
    return " ".join(digits[k : k + 4] for k in range(0, DIGITS, 4))  # else it would look like a secret


def digest_of_array(array: NDArray[Any]) -> str:
    """Return a digest of an array: its shape, and its numbers bit for bit. One NaN is like another."""
    return digest_of([str(array.shape), *array.ravel().tolist()])


# -- sessions ----------------------------------------------------------------------------------------------------


def session_digests(design: str, policy: Policy[Any], course: str, units: int, seed: int = 7) -> Digests:
    """Let a session take a course; return the digests of its decisions and of its estimates on the way."""
    played = begun(design, policy, course, seed=seed)
    estimates: list[object] = []

    def look(t: int) -> None:
        if t % EVERY == EVERY - 1 or t == units - 1:
            estimates.extend(_estimates(played))

    calls = played.play(units, look).calls
    return {**decision_digests(calls), "estimates": digest_of(estimates)}


def _estimates(course: Course) -> list[object]:
    assert isinstance(course.target, dtr.Session)
    try:
        return [part for coefficient in course.target.coefficients() for part in coefficient]
    except dtr.ProtocolError:  # this policy estimates nothing
        return ["none"]


def decision_digests(calls: Iterable[Call]) -> Digests:
    """Return the digests of what calls were answered."""
    parts: dict[str, list[object]] = {"arms": [], "reasons": [], "propensities": [], "tilde": [], "hat": []}
    for call in calls:
        decision = call.answer
        if not isinstance(decision, dtr.Decision):
            parts["arms"] += [call.verb, "refused" if call.refused else "none"]
            continue
        parts["arms"] += [decision.unit, decision.round, decision.stage, decision.arm]
        parts["reasons"] += [decision.reason, *decision.contenders, *map(str, decision.infeasible)]
        parts["propensities"].append(decision.propensity)
        parts["tilde"] += [part for pair in decision.q_tilde.items() for part in pair]
        parts["hat"] += [part for pair in decision.q_hat.items() for part in pair]
    return {quantity: digest_of(items) for quantity, items in parts.items()}


def session_runs() -> dict[str, Run]:
    """Return sessions: each policy with everything, and some policies in each course and design."""
    some = ("DTRBandit", "DTRBandit, permuted, floor", "EpsilonGreedy", "LSVIUCB", "LSVIUCB, all options")
    whole = ("leavers", "three stages", "ten features")
    chosen = [(design, "everything", policy) for design in whole for policy in policies(DESIGNS[design])]
    chosen += [("leavers", course, policy) for course in COURSES if course != "everything" for policy in some]
    chosen += [(design, "delays", policy) for design in DESIGNS if design not in whole for policy in some]
    return {
        f"session, {design}, {course}: {policy}": partial(
            session_digests, design, policies(DESIGNS[design])[policy], course, 60
        )
        for design, course, policy in chosen
    }


# -- readings of the paper ---------------------------------------------------------------------------------------


def late_units(policy: Policy[Any]) -> list[Call]:
    """Override units of the first two forced blocks, and let them respond long after all others (reading 3)."""
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b", "c"), "1 + z")]
    design = dtr.Design(stages, plans=[tuple(plan) for plan in ("aa", "ab", "ac", "bb", "bc")])
    course = Course(dtr.Session(design, policy, seed=7), design, frozenset(), seed=7)
    late = ("u0", "u1", "u5", "u6")
    for t in range(60):
        unit = f"u{t}"
        course.tell("enroll", unit=unit, context={"x": number(course.rng)})
        if unit in late:
            course.tell("override", unit=unit, arm="b", reason="allergy")
        else:
            course.tell("respond", unit=unit, context={"z": number(course.rng)})
            course.tell("complete", unit=unit, outcome=number(course.rng))
    for unit in late:
        course.tell("respond", unit=unit, context={"z": number(course.rng)})
    return course.calls


def overrides_back(policy: Policy[Any], sessions: int = 6) -> list[Call]:
    """Override the first arms of units in forced blocks at random, away and back (readings 6 and 12)."""
    stages = [dtr.Stage(f"s{m}", ("a", "b"), f"1 + x{m}") for m in range(4)]
    design = dtr.Design(stages, plans=[tuple(plan) for plan in ("aabb", "abab", "abba", "abbb", "bbab", "bbba")])
    calls: list[Call] = []
    for seed in range(sessions):
        course = Course(dtr.Session(design, policy, seed=seed), design, frozenset(), seed=seed)
        waiting = [f"u{t}" for t in range(12)] * len(stages)  # both first blocks
        while waiting:
            unit = waiting.pop(int(course.rng.integers(len(waiting))))
            m = len(stages) - 1 - waiting.count(unit)
            if m:
                course.tell("override", unit=unit, arm=course.pick(["a", "b"]), stage="s0", reason=f"event {m}")
            course.tell("respond" if m else "enroll", unit=unit, context={f"x{m}": number(course.rng)})
        calls += course.calls
    return calls


def reading_digests(play: Callable[[Policy[Any]], list[Call]], policy: Policy[Any]) -> Digests:
    """Return the digests of the decisions of a course that leads to what a reading is about."""
    return decision_digests(play(policy))


def reading_runs() -> dict[str, Run]:
    """Return courses that lead to rare decisions which docs/readings.md settles."""
    return {
        f"reading, {name}: DTRBandit, {schedule}": partial(
            reading_digests, play, dtr.DTRBandit(q=1, delta=0.5, schedule=schedule)
        )
        for name, play in (("late units of freed rounds", late_units), ("overrides taken back", overrides_back))
        for schedule in SCHEDULES
    }


# -- studies -----------------------------------------------------------------------------------------------------


def study_digests(environment: Environment, policy: Policy[Any], **how: Any) -> Digests:
    """Let a policy play simulated units; return the digests of arms, outcomes and, where it is known, regret."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnscaledOutcomes)
        study = dtr.simulate(environment, {"it": policy}, **{"horizon": 150, "paths": 2, "seed": 3, **how})
    found = {"arms": digest_of_array(study.arms["it"]), "outcomes": digest_of_array(study.rewards["it"])}
    if study.stage_regret is not None:
        found["regret"] = digest_of_array(study.stage_regret["it"])
    return found


def study_runs() -> dict[str, Run]:
    """Return studies: each policy with leavers and with three stages, and some policies in each kind of study."""
    some = ("DTRBandit", "DTRBandit, permuted", "Greedy, floor", "LSVIUCB")
    leaving, three = Leaving(), ThreeStages()
    simple = dtr.Design([dtr.Stage(stage.name, stage.arms, "1") for stage in three.design.stages])
    fixed = ArrivalProcess(between=Fixed(1.0), response=Fixed(7.0), outcome=Fixed(11.0), dropout=0.1)
    kinds: dict[str, tuple[Environment, dict[str, Any]]] = {
        "leavers, late responses": (leaving, {"arrivals": Quarterly(9)}),
        "leavers, an arrival process": (leaving, {"arrivals": fixed}),
        "leavers, a closed arm": (leaving, {"closings": [dtr.Closing(60, "second", "a")], "arrivals": Quarterly(5)}),
        "leavers, contraindications": (Contraindicated(leaving, {"first": {"b": 0.25}}), {}),
        "leavers, an earlier trial": (leaving, {"prior": finished_trial(leaving.design, 60)}),
        "three stages, late responses": (three, {"arrivals": Quarterly(4)}),
        "three stages, a design that is wrong": (three, {"design": simple}),
        "the paper's synthetic problem": (Synthetic(), {"horizon": 300}),
    }
    chosen: list[tuple[str, Environment, str, dict[str, Any]]] = []
    chosen += [("leavers", leaving, name, {}) for name in policies(leaving.design)]
    chosen += [("three stages", three, name, {}) for name in policies(three.design)]
    chosen += [(kind, environment, name, how) for kind, (environment, how) in kinds.items() for name in some]
    runs: dict[str, Run] = {
        f"study, {kind}: {name}": partial(study_digests, environment, policies(environment.design)[name], **how)
        for kind, environment, name, how in chosen
    }
    by_function = partial(study_digests, three, dtr.FixedRegime(rule=_in_turn), paths=1)
    return {**runs, "study, three stages: FixedRegime, a function": by_function}


def _in_turn(history: History) -> str:
    return "ba"[len(history.arms) % 2]


# -- replays -----------------------------------------------------------------------------------------------------


def replay_digests(design: str, policy: Policy[Any], *, weighted: bool = False, **how: Any) -> Digests:
    """Replay a policy on a finished trial; return the digests of the rows that it accepted and of what they say."""
    cohort = finished_trial(DESIGNS[design], 300, seed=5)
    weights = row_weights(len(cohort)) if weighted else None
    with warnings.catch_warnings():
        for expected in (EqualWeights, SmallCohort, UnscaledOutcomes):
            warnings.simplefilter("ignore", expected)
        found = dtr.replay(policy, cohort, **{"horizon": 60, "paths": 2, "seed": 4, "weights": weights, **how})
    arrays: dict[str, NDArray[Any]] = {
        "rows": found.rows,
        "arms": found.arms,
        "outcomes": found.outcomes,
        "draws": found.draws,
    }
    if found.resampled is not None:
        arrays["resampled"] = found.resampled
    return {quantity: digest_of_array(array) for quantity, array in arrays.items()}


def replay_runs() -> dict[str, Run]:
    """Return replays: each policy, with and without replacement; weights; an earlier trial; resampled cohorts."""
    some = ("DTRBandit", "EpsilonGreedy", "LSVIUCB, optimistic leavers")
    leavers = DESIGNS["leavers"]
    kinds: dict[str, dict[str, Any]] = {
        "each unit once": {"replace": False, "horizon": 25},
        "weights": {"weighted": True},
        "weights, each unit once": {"weighted": True, "replace": False, "horizon": 8},
        "an earlier trial": {"prior": finished_trial(leavers, 40)},
        "resampled cohorts": {"cohorts": 30, "cohort_paths": 2, "horizon": 20},
    }
    chosen: list[tuple[str, str, str, dict[str, Any]]] = [
        (f"{design}, as it comes", design, name, {})
        for design in ("leavers", "three stages")
        for name in policies(DESIGNS[design])
    ]
    chosen += [(f"leavers, {kind}", "leavers", name, how) for kind, how in kinds.items() for name in some]
    return {
        f"replay, {kind}: {name}": partial(replay_digests, design, policies(DESIGNS[design])[name], **how)
        for kind, design, name, how in chosen
    }


# -- all of them, and what they led to before ------------------------------------------------------------------


def all_runs() -> dict[str, Run]:
    """Return every run by its name."""
    return {**session_runs(), **study_runs(), **replay_runs(), **reading_runs()}


def recorded(file: Path) -> dict[str, Digests]:
    """Return what runs led to when a file was made."""
    found: dict[str, Digests] = json.loads(file.read_text(encoding="utf-8"))
    return found


def differences(before: Mapping[str, Digests], now: Mapping[str, Digests]) -> list[str]:
    """Return a line for each run that is new, is gone, or has other digests; it names the quantities that changed."""
    lines = [f"removed: {run}" for run in before if run not in now]
    lines += [f"added: {run}" for run in now if run not in before]
    for run, digests in now.items():
        known = before.get(run, digests)
        changed = [quantity for quantity in {**known, **digests} if known.get(quantity) != digests.get(quantity)]
        if changed:
            lines.append(f"changed: {run}: {', '.join(changed)}")
    return lines
