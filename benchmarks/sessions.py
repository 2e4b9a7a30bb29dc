"""What a live session costs, with Python's garbage collector on: `make bench` prints these tables.

A unit enrols, responds and completes on the synthetic problem: two stages, two features, two arms. Every verb is timed,
and what the caller does between two verbs counts for the next one, so that no collection is missed. Nothing but the
session holds objects that a collection would have to look at.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from cold_start import measure_cold_start
from stopwatch import Spent, in_words, spent, spread
from table import Line, report, seconds

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.record.events import Assigned, Completed, Enrolled, Event, Responded

POLICY = dtr.DTRBandit(q=5, delta=0.5)
VERBS = ("enroll", "respond", "complete")
FEW = 100  # first units, left out


class Size(NamedTuple):
    """How much is measured."""

    bands: tuple[int, ...]  # after how many units verbs are looked at
    amended: int  # units at which corrections, summary and resume are measured
    corrections: int
    traced: int  # units whose memory is measured
    copies: int  # of the log, for a longer one
    bursts: float  # seconds of units after the first ones, in a process that has just begun


WHOLE = Size((10**3, 10**4, 10**5, 3 * 10**5), 10**5, 20, 50_000, 10, 6.0)
QUICK = Size((10**3, 10**4, 2 * 10**4), 10**4, 5, 5_000, 3, 2.0)


class Trial:
    """A session fed with units of the synthetic problem, and the nanoseconds of each verb, (units, 3)."""

    def __init__(self, units: int) -> None:
        drawn = Synthetic().draw(units, np.random.default_rng(4))
        # flat arrays, which the garbage collector does not walk through
        self.x1 = array("d", drawn.contexts[0]["x1"])
        self.x2 = [array("d", drawn.contexts[1]["x2"][:, first]) for first in (0, 1)]
        self.outcome = [[array("d", drawn.outcome[:, first, second]) for second in (0, 1)] for first in (0, 1)]
        self.session = dtr.Session(Synthetic().design, POLICY)
        self.took = np.zeros((units, len(VERBS)), dtype=np.int64)
        self.enrolled = 0

    def enrol(self, units: int) -> None:
        """Take so many more units through."""
        session, clock = self.session, time.perf_counter_ns
        for i in range(self.enrolled, self.enrolled + units):
            unit, start = f"u{i}", clock()
            first = session.enroll(unit, {"x1": self.x1[i]}).arm == "2"
            enrolled = clock()
            decision = session.respond(unit, {"x2": self.x2[first][i]})
            responded = clock()
            assert decision is not None
            session.complete(unit, self.outcome[first][decision.arm == "2"][i])
            completed = clock()
            self.took[i] = enrolled - start, responded - enrolled, completed - responded
        self.enrolled += units


def measure_verbs(trial: Trial, units: int) -> Line:
    """Go on until so many units are enrolled."""
    low = trial.enrolled
    core = spent(lambda: trial.enrol(units - low)).core / (units - low)
    took = trial.took[low:units]
    each, whole = spread(took.ravel()), Spent(float(took.sum(axis=1).mean()) / 1e9, core)
    row, verb = divmod(each.where, len(VERBS))
    longest = f"{in_words(each.longest)} ({VERBS[verb]} of unit {low + row + 1:,})"
    return Line(
        f"units {low:,} to {units:,}: mean of a whole unit; 99.9 % and longest of a verb",
        f"{whole}; {in_words(each.rare)}; {longest}",
        f"≤ 60 µs; ≤ 1 ms; ≤ {50 if units <= 10**5 else 120} ms",
    )


def measure_trial(size: Size) -> Iterator[Line]:
    trial = Trial(size.bands[-1])
    trial.enrol(FEW)
    for units in size.bands:
        yield measure_verbs(trial, units)
        if units == size.amended:
            yield measure_amendments(trial, size.corrections)


def measure_amendments(trial: Trial, corrections: int) -> Line:
    """Correct units spread over the trial; a unit after each, since what a correction changes may be learnt then."""
    spent, after = [], []
    stages = [None, *(stage.name for stage in trial.session.design.stages)]
    for k, unit in enumerate(np.linspace(0, trial.enrolled - 1, corrections).astype(int).tolist()):
        spent.append(seconds(correction(trial.session, f"u{unit}", stages[k % len(stages)])))
        trial.enrol(1)
        after.append(float(trial.took[trial.enrolled - 1].max()) / 1e9)
    measured = f"{in_words(float(np.mean(spent)))}; {in_words(max(spent))}; {in_words(max(after))}"
    what = (
        f"{corrections} × correct() at {trial.enrolled - corrections:,} units: mean; longest; longest verb right after"
    )
    return Line(what, measured, "≤ 250 ms")


def correction(session: dtr.Session, unit: str, stage: str | None) -> Callable[[], None]:
    """Return the call that corrects a unit's outcome, or its context at a stage."""
    if stage is None:
        return lambda: session.correct(unit, outcome=0.25, reason="benchmark")
    column = "x1" if stage == session.design.stages[0].name else "x2"
    return lambda: session.correct(unit, stage=stage, context={column: 0.5}, reason="benchmark")


def measure_reading(size: Size) -> Iterator[Line]:
    trial, units = Trial(size.amended), f"{size.amended:,} units"
    trial.enrol(size.amended)
    yield from measure_log(trial.session, units)
    events = list(trial.session.log)
    del trial
    yield Line(f"resume {units} from a list of events", str(resuming(events)), "≤ 3 s")
    longer = list(repeated(events, size.copies))
    del events
    yield Line(f"resume {size.copies} × {units} from a list of events", str(resuming(longer)))


def measure_log(session: dtr.Session, units: str) -> Iterator[Line]:
    yield Line(f"summary() at {units}", str(spent(session.summary)))
    yield Line(f"session.log at {units}", str(spent(lambda: session.log)), "copies nothing")
    yield Line(f"resume {units} from session.log", str(resuming(session.log)), "≤ 3 s")


def resuming(log: Sequence[Event]) -> Spent:
    gc.collect()  # what was built for another line is not this one's
    return spent(lambda: dtr.Session.resume(log))


def repeated(log: Sequence[Event], times: int) -> Iterator[Event]:
    """Give a longer log with other unit ids; what it decides need not follow from its facts."""
    facts = log[1:]
    yield log[0]
    enrolled = sum(isinstance(fact, Enrolled) for fact in facts)
    for k in range(times):
        for fact in facts:
            match fact:
                case Enrolled():
                    yield fact._replace(unit=f"{fact.unit}-{k}", round=fact.round + k * enrolled)
                case Responded() | Completed():
                    yield fact._replace(unit=f"{fact.unit}-{k}")
                case Assigned(decision):
                    renamed = decision._replace(unit=f"{fact.unit}-{k}", round=decision.round + k * enrolled)
                    yield Assigned(renamed)


def measure_memory(units: int) -> Iterator[Line]:
    """Trace a session from its beginning: tracing makes it slow, so that it is timed elsewhere."""
    gc.collect()
    trial = Trial(units)
    tracemalloc.start()
    trial.session = dtr.Session(Synthetic().design, POLICY)
    trial.enrol(units)
    gc.collect()
    each = tracemalloc.get_traced_memory()[0] / units
    tracemalloc.stop()
    yield Line(f"memory of a session of {units:,} units, per unit", f"{each:,.0f} bytes", "≤ 1 KB")
    tracemalloc.start()
    session = dtr.Session(Synthetic().design, POLICY)
    for i in range(units):
        session.enroll(f"u{i}", {"x1": trial.x1[i]})
        session.respond(f"u{i}", {"x2": trial.x2[0][i]})
    each = tracemalloc.get_traced_memory()[0] / units
    tracemalloc.stop()
    yield Line(f"the same, {units:,} units that await their outcome", f"{each:,.0f} bytes", "≤ 1.5 KB")


def measure_growth(units: int) -> Iterator[Line]:
    """Compare a unit after many others with an early one, with ten features and four arms.

    An outcome is linear in the features of its arms. With ``ties`` three of the four arms do the same, so that
    estimates keep crossing: the hardest case.
    """
    for ties in (False, True):
        early, late = _ten_features(units, ties=ties)
        case = "three of four arms alike" if ties else "all arms differ"
        what = f"(10, 4), {case}: a unit, {units // 20:,} to {units // 10:,}, and the last of {units:,}; growth"
        measured = f"{in_words(early)}; {in_words(late)}; {late / early:.2f}"
        yield Line(what, measured, "" if ties else "≤ 1.5")


def _ten_features(units: int, *, ties: bool) -> tuple[float, float]:
    """Return the processor time of a unit, after a twentieth of them, and at the end."""
    rng, columns = np.random.default_rng(2), [f"x{j}" for j in range(1, 10)]
    stages = [
        dtr.Stage(f"s{m}", tuple("abcd"), " + ".join(["1", *(f"{name}_{m}" for name in columns)])) for m in (0, 1)
    ]
    session = dtr.Session(dtr.Design(stages), POLICY)
    theta = rng.normal(size=(2, 4, 9))
    if ties:
        theta[:, 2:] = theta[:, 1:2]
    own, spent_at = session.design.columns, [0.0] * (units + 1)
    for i in range(units):
        x, noise = rng.normal(size=(2, 9)), float(rng.normal())
        contexts = [dict(zip(names, row, strict=True)) for names, row in zip(own, x.tolist(), strict=True)]
        began = time.process_time()
        decisions = [session.enroll(f"u{i}", contexts[0]), session.respond(f"u{i}", contexts[1])]
        took = time.process_time() - began
        arms = ["abcd".index(decision.arm) for decision in decisions if decision is not None]
        outcome = sum(float(theta[m, arm] @ x[m]) for m, arm in enumerate(arms)) + noise
        began = time.process_time()
        session.complete(f"u{i}", outcome)
        spent_at[i + 1] = spent_at[i] + took + time.process_time() - began
    few = units // 20
    return (spent_at[2 * few] - spent_at[few]) / few, (spent_at[units] - spent_at[units - few]) / few


def measure_sessions(size: Size) -> Iterator[Line]:
    yield from measure_memory(size.traced)
    yield from measure_growth(size.amended)
    yield from measure_trial(size)
    yield from measure_reading(size)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a short run, for trying out")
    chosen = QUICK if options.parse_args().quick else WHOLE
    report("Sessions", measure_sessions(chosen), total=13)
    report("Cold start", measure_cold_start(bursts=chosen.bursts), total=19)
