"""A rehearsal: simulated patients come before your eyes, through the service's own writer.

Time is simulated too: a day takes a part of a second. Patients are those of ``STARD``; some respond late, drop out, get
another arm than decided, or have a value that was typed wrongly.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np

from dtrbandit.design import Design
from dtrbandit.environments.potential_outcomes import PotentialOutcomes
from dtrbandit.environments.stard import STARD
from dtrbandit.errors import DTRError
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.record import Command, Complete, Correct, Enroll, Override, Respond, Withdraw
from dtrbandit.service.key_store import create
from dtrbandit.service.keys import Role
from dtrbandit.service.service import Service
from dtrbandit.storage import Store
from dtrbandit.trial import Ask, Taken, Trial

NAME = "depression"
POLICY = DTRBandit(q=2, delta=4.0, schedule="permuted")
COURSE = 84.0  # days that a stage takes
BETWEEN = 1.5  # days between two patients, in the mean
PAST = 750.0  # days that have gone by when it begins
BATCH = 256  # patients drawn together
SITES = ("north", "south", "east")
SHARES = {"late": 0.12, "lost": 0.04, "overridden": 0.02, "corrected": 0.03, "excluded": 0.02}

log = logging.getLogger("dtrbandit.rehearsal")


class SimulatedClock:
    """A clock that a rehearsal sets, and that goes on by itself from there, so many days a second."""

    def __init__(self, start: datetime, *, days_a_second: float) -> None:
        self._days_a_second = days_a_second
        self._start, self._set_at, self._running = start, 0.0, False

    def __call__(self) -> datetime:
        """Return the simulated time."""
        gone = time.monotonic() - self._set_at if self._running else 0.0
        return self._start + timedelta(days=gone * self._days_a_second)

    def set(self, now: datetime) -> None:
        """Let it be now, and stand still."""
        self._start, self._running = now, False

    def run(self) -> None:
        """Go on from here."""
        self._start, self._set_at, self._running = self(), time.monotonic(), True

    def seconds_until(self, then: datetime) -> float:
        """Return the seconds that pass here until it is then."""
        return (then - self()) / timedelta(days=1) / self._days_a_second


def rehearsed_design() -> Design:
    """Return the design of the simulated STAR*D, with the days that each stage is expected to take."""
    plain = STARD().design
    return Design([replace(stage, expected_days=COURSE) for stage in plain.stages], plans=plain.plans)


def prepare(store: Store) -> dict[str, str]:
    """Create the trial in an empty store; return a key for each role."""
    start = datetime.now(UTC) - timedelta(days=PAST)
    Trial.create(NAME, rehearsed_design(), POLICY, storage=store, actor="rehearsal", clock=lambda: start)
    now, site = datetime.now(UTC), SITES[0]
    labels = {Role.STATISTICIAN: "Dr. Bayes", Role.AUDITOR: "the auditor", Role.ADMINISTRATOR: "the administrator"}
    keys = {role.value: create(store, role.value, label, now=now).key for role, label in labels.items()}
    nurse = create(store, Role.SITE.value, f"nurse {site.title()}", now=now, trial=NAME, site=site)
    return {**keys, Role.SITE.value: nurse.key}


@dataclass(frozen=True)
class Patient:
    """One of the drawn units, by its number there, and what will be special about it."""

    name: str
    units: PotentialOutcomes
    row: int
    site: str
    special: frozenset[str]

    def context(self, m: int, arms: tuple[int, ...]) -> dict[str, float]:
        """Return what is observed at a stage after these arms."""
        return {name: float(values[(self.row, *arms[:m])]) for name, values in self.units.contexts[m].items()}

    def outcome(self, arms: tuple[int, ...]) -> float:
        """Return the outcome after these arms; who left early has the same after all that could follow."""
        found = np.asarray(self.units.outcome[(self.row, *arms)]).ravel()
        return float(found[np.isfinite(found)][0])


def arrivals(rng: np.random.Generator) -> Iterator[Patient]:
    """Give patients without end."""
    environment, number = STARD(), 0
    while True:
        units = environment.draw(BATCH, rng)
        for row in range(BATCH):
            number += 1
            special = frozenset(what for what, share in SHARES.items() if rng.random() < share)
            site = SITES[number % len(SITES)]
            name = f"{site[0].upper()}-{number // len(SITES) + 1:04}"  # a number of all sites would be a count
            yield Patient(name, units, row, site, special)


class Rehearsal:
    """Patients on their way through a trial of a service. ``seed`` settles who comes, and when."""

    def __init__(self, service: Service, clock: SimulatedClock, *, seed: int = 0) -> None:
        self._service, self._clock = service, clock
        self._rng = np.random.default_rng(seed)
        self._patients = arrivals(self._rng)
        self._due: list[tuple[datetime, int, AsyncIterator[timedelta]]] = []  # courses, by when each goes on
        self._numbers = count()  # which order courses that go on at the same time

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Let patients come while the service runs."""
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def run(self) -> None:
        """Play what has gone by at once, and then go on at the clock's pace, until cancelled."""
        trial = await self._trial()
        now = datetime.now(UTC)
        self._plan(now - timedelta(days=PAST), self._arrivals(trial))
        while self._due[0][0] < now:
            self._clock.set(self._due[0][0])
            await self._next()
        self._clock.set(now)
        self._clock.run()
        while True:
            await asyncio.sleep(max(0.0, self._clock.seconds_until(self._due[0][0])))
            await self._next()

    async def _trial(self) -> Trial:
        while True:
            try:
                return await self._service.trial(NAME)
            except DTRError:  # it is being read
                await asyncio.sleep(0.05)

    def _plan(self, then: datetime, course: AsyncIterator[timedelta]) -> None:
        heapq.heappush(self._due, (then, next(self._numbers), course))

    async def _next(self) -> None:
        """Let the course that is due first go on; it says for how long it then waits."""
        then, _, course = heapq.heappop(self._due)
        try:
            self._plan(then + await anext(course), course)
        except StopAsyncIteration:
            pass
        except DTRError as error:  # somebody at the pages was faster, or accrual is held: life goes on
            log.info("the rehearsal goes on: %s", error)

    # -- what happens ----------------------------------------------------------------------------------------

    async def _arrivals(self, trial: Trial) -> AsyncIterator[timedelta]:
        """Let one patient come after the other."""
        while True:
            self._plan(self._clock(), self._course(trial, next(self._patients)))
            yield self._days(BETWEEN * self._rng.exponential())

    async def _course(self, trial: Trial, patient: Patient) -> AsyncIterator[timedelta]:
        """Let a patient enrol, be treated stage by stage, and have an outcome, unless they are lost before."""

        async def send(command: Command) -> Taken:
            actor = f"nurse {patient.site.title()} (simulated)"
            taken: Taken = await self._service.writer.ask(trial, Ask(command, actor=actor))
            return taken

        stages, arms = trial.design.stages, tuple[int, ...]()
        exclude = {"second": ["ssri"]} if "excluded" in patient.special else None
        reason = "allergy" if exclude else None
        taken = await send(Enroll(patient.name, patient.context(0, ()), exclude, reason, patient.site))
        while taken.decision is not None:  # or the patient left early
            labels = stages[len(arms)].arms
            arm = labels.index(taken.decision.arm)
            if "overridden" in patient.special and not arms:
                arm = 1 - arm
                await send(Override(patient.name, labels[arm], "the patient asked for it"))
            arms = (*arms, arm)
            if len(arms) == len(stages):
                break
            yield self._wait(patient)
            if "lost" in patient.special:
                yield self._days(40)
                await send(Withdraw(patient.name, "cannot be reached"))
                return
            taken = await send(Respond(patient.name, patient.context(len(arms), arms)))
        yield self._wait(patient)
        outcome = patient.outcome(arms)
        typed = outcome * 10 if "corrected" in patient.special else outcome
        await send(Complete(patient.name, typed))
        if typed != outcome:
            yield self._days(3)
            await send(Correct(patient.name, "typing error", outcome, None, None))

    def _wait(self, patient: Patient) -> timedelta:
        late = "late" in patient.special
        return self._days(COURSE + self._rng.exponential(25.0) if late else COURSE - self._rng.exponential(6.0))

    @staticmethod
    def _days(days: float) -> timedelta:
        return timedelta(days=max(days, 1.0))
