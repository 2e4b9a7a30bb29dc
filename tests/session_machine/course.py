"""A course of events in a session, held against two oracles after every step.

The oracles are a naive model of what may be said and of the estimates, which shares no code with the package, and a
second session under the plain refit, whose every decision must be the same. A course begins with some finished and
unfinished units, so that free rounds are reached. Then at most ``FRESH`` units more are enrolled, and most steps
bring units further or amend what is on record. A step is drawn from a seed, so a course is a list of numbers: fixed
ones in the tests, and any in ``machine.py``, where Hypothesis searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.registry import forces_plans, learns
from paper.literal import feasible_arms, hat_estimates, schedule, tilde_estimates
from plain.masks import plans_left
from policies.twins import Twins
from session_machine.naive import Earlier, NaiveUnit, draw, earlier_unit
from session_machine.problems import ARMS, Context, Problem
from session_machine.seam import Seam

FRESH = 6
PAST_BARRINGS = 12  # of these the first, two for each stage, are an arm that is contraindicated


class Course:
    """A session of a problem under a policy, with what the oracles know of it; ``tally`` counts what has happened."""

    def __init__(self, problem: Problem, policy: Any, tally: Counter[str]) -> None:
        self.problem, self.policy, self.tally = problem, policy, tally

    def begin(self, seed: int) -> None:
        """Open a session and tell of its past: free rounds begin or go on, and in most courses an arm is closed."""
        blocks, closing = (6, 2, 5, 6)[seed % 4], seed % 3 != 2
        self.closing, self.closed = closing, dict[tuple[int, int], str]()
        taught = 9 if seed % 2 else 0  # units of an earlier trial
        self.learns = learns(self.policy)
        past = np.random.default_rng([seed, 1])
        self.earlier = {f"u{i:02d}": earlier_unit(self.problem, past) for i in range(60, 60 + taught)}
        prior = Earlier(self.earlier) if taught else None
        self.tally["taught"] += taught
        design, policy = self.problem.design, self.policy
        self.twins = Twins(design, policy, seed=seed, tally=self.tally, prior=prior) if self.learns else None
        session = self.twins.session if self.twins else dtr.Session(design, policy, seed=seed, prior=prior)
        self.session: Any = Seam(session)
        if self.twins:
            self.twins.session = self.session  # it has the same verbs
        self.units: dict[str, NaiveUnit] = {}
        self.accrual: tuple[str, str] | None = None  # the last verb of hold and release, and its reason
        self.careful = False  # the past is told without looking at everything after each step
        rng = np.random.default_rng(seed)
        if isinstance(self.policy, dtr.EpsilonGreedy | dtr.Greedy):
            blocks += 3  # their initial pulls are made up for
        for _ in range(blocks * len(self.problem.plans)):
            self.enrol_one({"x": draw(rng)}, int(rng.integers(0, PAST_BARRINGS)))
            for index in rng.integers(0, len(self.units), size=3):
                unit, values = list(self.units.values())[index], [draw(rng) for _ in range(2)]
                self.step_on(unit, values, whole=True, barring=int(rng.integers(0, PAST_BARRINGS)))
            self.tell_of_the_past(rng)
        if closing:
            self.close_arm(seed, "because")
        self.careful, self.past, self.seen = True, len(self.units), 0
        self.check()

    def take_step(self, seed: int | list[int]) -> None:
        """Take one of the steps that are possible now."""
        drawn = Drawn(np.random.default_rng(seed))
        possible = [step for step in STEPS if step.possible(self)]
        possible[drawn.below(len(possible))].take(self, drawn)
        self.check()

    def take_every_step(self, seed: int) -> None:
        """Take each step that is possible once, and close arms until no other can be."""
        drawn = Drawn(np.random.default_rng([seed, 2]))
        for step in STEPS:
            if step.possible(self):
                step.take(self, drawn)
                self.check()
        while self.arms_to_close(must_stay=False):
            self.close_arm(drawn.below(99), "because")
        self.close_an_arm_that_must_stay(drawn.below(99), "because")
        self.check()

    def tell_of_the_past(self, rng: np.random.Generator) -> None:
        """Amend something, void a unit, or hold accrual for a while."""
        (index, which), chance = rng.integers(0, 99, size=2).tolist(), rng.random()
        if chance < 0.3 and any(unit.alternatives() for unit in self.units.values()):
            self.override_late(index, which)
        elif chance < 0.45:
            self.correct_outcome(index, draw(rng), "because")
        elif chance < 0.65:
            self.correct_context(index, which, draw(rng), "because")
        elif chance < 0.75 and any(self.units[name].outcome is not None for name in self.valid()):
            self.correct_an_outcome_there_and_back(index, draw(rng))
        elif chance < 0.9 and len(self.valid()) > 1:  # somebody is left to amend
            self.void(index, "not eligible")
        elif chance > 0.93:
            self.hold_or_release("because")
            self.hold_or_release("for another reason")

    def valid(self) -> list[str]:
        """Return the units that are not void."""
        return sorted(name for name, unit in self.units.items() if unit.voided is None)

    def pick(self, index: int) -> tuple[str, NaiveUnit]:
        name = self.valid()[index % len(self.valid())]
        return name, self.units[name]

    def say(self, verb: str, *content: Any, **more: Any) -> Any:
        if self.twins is not None:
            return self.twins.tell(verb, *content, **more)
        return getattr(self.session, verb)(*content, **more)

    def accepts(self, verb: str, *content: Any, events: int, **more: Any) -> Any:
        before = self.session.log
        answer = self.say(verb, *content, **more)
        assert len(self.session.log) - len(before) == events
        if self.careful and events == 2 and answer.round % 3 == 0:  # a decision, derived again
            resumed = dtr.Session.resume(before)
            assert getattr(resumed, verb)(*content, **more) == answer
        return answer

    def refuses(self, verb: str, *content: Any, **more: Any) -> None:
        log = self.session.log
        with pytest.raises(dtr.ProtocolError):
            getattr(self.session, verb)(*content, **more)
        assert self.session.log == log
        self.tally["refused"] += 1

    def exclusion(self, m: int, barring: int) -> dict[str, Any]:
        """Return what is said of contraindications on arrival at a stage: often nothing."""
        stages = len(self.problem.names)
        if barring >= 2 * stages or barring // 2 < m:
            return {}
        return {"exclude": {self.problem.names[barring // 2]: [ARMS[barring % 2]]}, "reason": "allergy"}

    def barred(self, unit: NaiveUnit, more: dict[str, Any]) -> set[tuple[int, int]]:
        """Return all that is contraindicated for a unit that arrives and says so."""
        before = unit.excluded[-1] if unit.excluded else set()
        names = self.problem.names
        return before | {(names.index(s), ARMS.index(a)) for s, arms in more.get("exclude", {}).items() for a in arms}

    def bar(self, unit: NaiveUnit, m: int, more: dict[str, Any]) -> None:
        """Believe what was said of contraindications on arrival at a stage."""
        unit.excluded.append(self.barred(unit, more))
        if more:
            unit.excluding[m] = more
            self.tally["contraindicated"] += 1

    def left_for(self, unit: NaiveUnit, excluded: set[tuple[int, int]]) -> list[int]:
        """Return the arms feasible for a unit that arrives."""
        arms = tuple(unit.arms)
        return sorted({plan[len(arms)] for plan in plans_left(self.problem.plans, arms, excluded | set(self.closed))})

    def take(self, unit: NaiveUnit, decision: dtr.Decision, more: dict[str, Any]) -> None:
        """Check a decision as far as it is prescribed, and believe it."""
        m, plans = len(unit.arms), self.problem.plans
        excluded = self.barred(unit, more)
        feasible = self.left_for(unit, excluded)
        masked = bool(excluded or self.closed)
        self.bar(unit, m, more)
        for label, why in decision.infeasible:
            assert ARMS.index(label) in set(feasible_arms(plans, tuple(unit.arms))) - set(feasible)
            assert (why == "contraindicated") == ((m, ARMS.index(label)) in excluded)
        assert len(decision.infeasible) == len(feasible_arms(plans, tuple(unit.arms))) - len(feasible)
        arm = ARMS.index(decision.arm)
        assert arm in feasible
        assert (decision.round, decision.stage) == (unit.round, self.problem.names[m])
        assert decision.propensity is not None
        assert 0 < decision.propensity <= 1
        if isinstance(self.policy, dtr.UniformRandom):
            assert decision.propensity == 1 / len(feasible)
        if isinstance(self.policy, dtr.DTRBandit) and self.policy.schedule == "paper" and not masked:
            plan = schedule(plans, self.policy.q, 200).get(unit.round)
            if plan and all((*unit.arms[:k], *plan[k:]) in plans for k in range(m + 1)):
                assert (arm, decision.reason) == (plan[m], "forced")
            elif len(feasible) == 1:
                assert decision.reason == "only_feasible"
        unit.decided.append(decision)
        unit.arms.append(arm)

    # -- units come and go on --------------------------------------------------------------------------------

    def enrol_one(self, context: Context, barring: int = 99) -> None:
        name, more = f"u{len(self.units):02d}", self.exclusion(0, barring)
        unit = NaiveUnit(self.problem, len(self.units) + 1, [context], [context])
        if not self.left_for(unit, self.barred(unit, more)):
            self.refuses("enroll", name, context, **more)
            more = {}
        decision = self.accepts("enroll", name, context, events=2, **more)
        self.units[name] = unit
        self.take(unit, decision, more)

    def step_on(self, unit: NaiveUnit, values: list[float], *, whole: bool, barring: int = 99) -> None:
        """Let a unit respond or complete, whichever is due."""
        name, m = f"u{unit.round - 1:02d}", unit.due
        if not unit.open:
            return
        if m is None:
            self.accepts("complete", name, values[0], events=1)
            unit.outcome = unit.said_outcome = values[0]
            self.tally["completed"] += 1
            return
        context = dict(zip(self.problem.columns[m], values, strict=False))
        enters = unit.enters(m, [*unit.contexts, context])
        if not enters and not whole:  # a leaver need not say more than what made it leave
            context = {column: context[column] for column in self.problem.decisive[m]}
        more = self.exclusion(m, barring)
        if enters and not self.left_for(unit, self.barred(unit, more)):
            self.refuses("respond", name, context, **more)
            if not self.left_for(unit, self.barred(unit, {})):  # an override led to where nothing is left
                self.tally["nothing left"] += 1
                self.accepts("withdraw", name, reason="nothing left", events=1)
                unit.withdrawn = "nothing left"
                return
            more = {}
        decision = self.accepts("respond", name, context, events=1 + enters, **more)
        if not enters:
            self.bar(unit, m, more)
        unit.contexts.append(context)
        unit.said.append(context)
        unit.left = not enters
        assert (decision is not None) == enters
        self.tally["left early"] += unit.left
        if enters:
            self.take(unit, decision, more)

    def enroll(self, x: float, barring: int = 99) -> None:
        if self.accrual and self.accrual[0] == "hold":
            self.refuses("enroll", f"u{len(self.units):02d}", {"x": x})
        else:
            self.enrol_one({"x": x}, barring)

    def must_stay(self, m: int, arm: int) -> bool:
        """Say whether an arm is the last one somewhere, or the last one of a unit under way."""
        plans, before, after = self.problem.plans, set(self.closed), {*self.closed, (m, arm)}
        reached = [plan[:k] for plan in plans for k in range(len(plan)) if not before & set(enumerate(plan[:k]))]
        last = any(not {(len(p), a) for a in feasible_arms(plans, p)} - after for p in reached)
        return last or any(
            plans_left(plans, tuple(unit.arms), unit.excluded[-1] | before)
            and not plans_left(plans, tuple(unit.arms), unit.excluded[-1] | after)
            for unit in self.units.values()
            if unit.due is not None
        )

    def arms_to_close(self, *, must_stay: bool) -> list[tuple[int, int]]:
        """Return the stages and arms that are not closed, those that may be or those that must stay."""
        every = {(m, arm) for m in range(len(self.problem.names)) for arm in range(2)}
        return sorted(pair for pair in every - set(self.closed) if self.must_stay(*pair) == must_stay)

    def close_arm(self, index: int, reason: str) -> None:
        pairs = self.arms_to_close(must_stay=False)
        if not pairs:
            return
        m, arm = pairs[index % len(pairs)]
        self.accepts("close_arm", self.problem.names[m], ARMS[arm], reason=reason, events=1)
        self.closed[m, arm] = reason
        self.tally["closed"] += 1

    def close_an_arm_that_must_stay(self, index: int, reason: str) -> None:
        pairs = self.arms_to_close(must_stay=True)
        if not pairs:
            return
        m, arm = pairs[index % len(pairs)]
        self.refuses("close_arm", self.problem.names[m], ARMS[arm], reason=reason)
        self.tally["last or stuck"] += 1

    def close_an_arm_again(self, index: int) -> None:
        (m, arm), reason = list(self.closed.items())[index % len(self.closed)]
        self.accepts("close_arm", self.problem.names[m], ARMS[arm], reason=reason, events=0)
        self.refuses("close_arm", self.problem.names[m], ARMS[arm], reason="for no reason given before")

    def hold_or_release(self, reason: str) -> None:
        verb, before = ("release", "hold") if self.accrual and self.accrual[0] == "hold" else ("hold", "release")
        if self.accrual is not None:  # the same again, which writes nothing, and otherwise
            self.accepts(before, reason=self.accrual[1], events=0)
            self.refuses(before, reason="for no reason given before")
        else:
            self.refuses(before, reason=reason)
        self.accepts(verb, reason=reason, events=1)
        self.accrual = (verb, reason)
        if verb == "hold":
            self.enroll(0.5)
            self.tally["refused while held"] += 1

    def advance(self, index: int, values: list[float], *, whole: bool, barring: int) -> None:
        waiting = [unit for unit in self.units.values() if unit.open]
        self.step_on(waiting[index % len(waiting)], values, whole=whole, barring=barring)

    def advance_the_last(self, values: list[float]) -> None:
        self.step_on([unit for unit in self.units.values() if unit.open][-1], values, whole=True)

    def withdraw(self, index: int, reason: str) -> None:
        name, unit = self.pick(index)
        if unit.withdrawn == reason:
            self.accepts("withdraw", name, reason=reason, events=0)
        elif not unit.open:
            self.refuses("withdraw", name, reason=reason)
        else:
            self.accepts("withdraw", name, reason=reason, events=1)
            unit.withdrawn = reason
            self.tally["withdrawn"] += 1

    def void(self, index: int, reason: str) -> None:
        name, unit = self.pick(index)
        self.accepts("void", name, reason=reason, events=1)
        self.tally["voided after it taught"] += len(unit.contexts) > 1
        unit.voided = reason

    def say_more_of_a_void_unit(self, index: int, y: float) -> None:
        names = sorted(set(self.units) - set(self.valid()))
        name, unit = names[index % len(names)], self.units[names[index % len(names)]]
        self.accepts("void", name, reason=unit.voided, events=0)
        self.refuses("void", name, reason="another reason")
        self.refuses("enroll", name, unit.said[0])
        for context in unit.said[1:]:
            self.refuses("respond", name, context)
        self.refuses("complete", name, y if unit.said_outcome is None else unit.said_outcome)
        self.refuses("withdraw", name, reason=unit.withdrawn or "moved away")
        self.refuses("override", name, ARMS[1 - unit.arms[-1]], reason="because")
        self.refuses("correct", name, outcome=y, reason="because")

    def say_more_of_a_unit_of_the_earlier_trial(self, index: int, y: float) -> None:
        names = sorted(set(self.earlier) - set(self.units))
        name = names[index % len(names)]
        self.refuses("void", name, reason="not eligible")
        self.refuses("correct", name, outcome=y, reason="because")
        self.refuses("override", name, "a", reason="because")
        self.refuses("complete", name, y)
        self.refuses("withdraw", name, reason="moved away")

    # -- things said twice, too late or too early ------------------------------------------------------------

    def say_a_context_again(self, index: int, which: int, other: float, same: str) -> None:
        name, unit = self.pick(index)
        m = which % len(unit.said)
        verb = "respond" if m else "enroll"
        otherwise = {**unit.said[m], self.problem.decisive[m][0] if m else "x": other}
        context = {"as said": unit.said[m], "as it holds": unit.contexts[m], "otherwise": otherwise}[same]
        more = unit.excluding.get(m, {})
        if context in (unit.said[m], unit.contexts[m]):
            answer = self.accepts(verb, name, context, events=0, **more)
            assert answer == (unit.decided[m] if m < len(unit.decided) else None)
            other_reason = {"exclude": {self.problem.names[-1]: ["a"]}, "reason": "another"}
            self.refuses(verb, name, context, **({} if more else other_reason))
        else:
            self.refuses(verb, name, context, **more)

    def complete(self, index: int, y: float, *, same: bool) -> None:
        name, unit = self.pick(index)
        if same and unit.said_outcome is not None:
            self.accepts("complete", name, unit.said_outcome, events=0)
            self.accepts("complete", name, unit.outcome, events=0)
        elif unit.due is not None or (not unit.open and y not in (unit.said_outcome, unit.outcome)):
            self.refuses("complete", name, y)

    def respond_when_nothing_is_due(self, index: int, values: list[float]) -> None:
        name, unit = self.pick(index)
        m = len(unit.said)
        if unit.due is None and m < len(self.problem.columns):
            context = dict(zip(self.problem.columns[m], values, strict=False))
            self.refuses("respond", name, context)

    # -- amendments ------------------------------------------------------------------------------------------

    def try_override(self, name: str, m: int, arm: int, reason: str = "because") -> None:
        unit, stage = self.units[name], self.problem.names[m]
        arms = (*unit.arms[:m], arm, *unit.arms[m + 1 :])
        possible = len(unit.arms) > m and any(plan[: len(arms)] == arms for plan in self.problem.plans)
        if unit.latest.get(("arm", m)) == (arm, reason):
            answer = self.accepts("override", name, ARMS[arm], stage=stage, reason=reason, events=0)
            assert answer.arm == ARMS[unit.arms[m]] == ARMS[arm]
            return
        if not possible or unit.arms[m] == arm:
            self.refuses("override", name, ARMS[arm], stage=stage, reason=reason)
            return
        answer = self.accepts("override", name, ARMS[arm], stage=stage, reason=reason, events=1)
        assert (answer.arm, answer.reason, answer.propensity) == (ARMS[arm], "override", None)
        assert self.accepts("override", name, ARMS[arm], stage=stage, reason=reason, events=0) == answer
        unit.arms[m], unit.latest["arm", m] = arm, (arm, reason)
        self.tally["late override" if len(unit.contexts) > m + 1 or unit.outcome is not None else "override"] += 1

    def override(self, index: int, arm: int, which: int, reason: str) -> None:
        self.try_override(self.pick(index)[0], which % len(self.problem.names), arm, reason)

    def override_late(self, index: int, which: int) -> None:
        names = [name for name, unit in self.units.items() if unit.alternatives()]
        name = names[index % len(names)]
        stages = self.units[name].alternatives()
        m = stages[which % len(stages)]
        for _ in range(3 if which % 4 == 0 else 1):  # there, and at times back and there again
            self.try_override(name, m, 1 - self.units[name].arms[m])

    def override_the_last(self, which: int) -> None:
        unit = [unit for unit in self.units.values() if unit.open][-1]
        m = which % len(unit.arms)
        self.try_override(f"u{unit.round - 1:02d}", m, 1 - unit.arms[m])

    def correct_outcome(self, index: int, y: float, reason: str) -> None:
        name, unit = self.pick(index)
        if unit.latest.get(("outcome",)) == (y, reason):
            self.accepts("correct", name, outcome=y, reason=reason, events=0)
        elif unit.outcome is None or unit.outcome == y:
            self.refuses("correct", name, outcome=y, reason=reason)
        else:
            self.accepts("correct", name, outcome=y, reason=reason, events=1)
            self.accepts("correct", name, outcome=y, reason=reason, events=0)
            unit.outcome, unit.latest["outcome",] = y, (y, reason)
            self.tally["corrected outcome"] += 1

    def correct_an_outcome_there_and_back(self, index: int, y: float) -> None:
        known = [place for place, unit in enumerate(self.valid()) if self.units[unit].outcome is not None]
        index = known[index % len(known)]
        _, unit = self.pick(index)
        if unit.outcome is not None and unit.outcome != y:
            before, version = unit.outcome, self.session.version
            for value in (y, before, y):
                self.correct_outcome(index, value, "because")
            self.tally["there and back"] += self.session.version == version + 3

    def correct_context(self, index: int, which: int, value: float, reason: str) -> None:
        name, unit = self.pick(index)
        reached = self.problem.columns[: len(unit.contexts) + (index % 7 == 6)]  # at times one stage too far
        pairs = [(m, column) for m, columns in enumerate(reached) for column in columns]
        m, column = pairs[which % len(pairs)]
        more = {
            "stage": self.problem.names[m],
            "context": {column: value},
            "reason": reason,
        }
        if unit.latest.get((m, column)) == (value, reason):
            self.accepts("correct", name, events=0, **more)
            return
        if len(unit.contexts) <= m or unit.contexts[m].get(column) == value:
            self.refuses("correct", name, **more)
            return
        contexts = [{**known, column: value} if k == m else known for k, known in enumerate(unit.contexts)]
        entered = [True] * (len(contexts) - unit.left) + [False] * unit.left
        if [unit.enters(k, contexts) for k in range(len(contexts))] != entered:
            self.refuses("correct", name, **more)
        else:
            self.accepts("correct", name, events=1, **more)
            unit.contexts, unit.latest[m, column] = contexts, (value, reason)
            self.accepts("respond" if m else "enroll", name, contexts[m], events=0, **unit.excluding.get(m, {}))
            self.tally["a correction said again"] += contexts[m] != unit.said[m]
            self.tally["corrected context"] += 1

    # -- what must hold after every step ---------------------------------------------------------------------

    def check(self) -> None:
        """Hold estimates, and now and then a resumed session, against this one, if it has grown."""
        before, self.seen = self.seen, len(self.session.log)
        if before == self.seen:
            return
        self.estimates_are_those_of_a_naive_refit()
        if before // 12 < self.seen // 12:
            self.a_resumed_session_is_the_same()

    def estimates_are_those_of_a_naive_refit(self) -> None:
        exact = forces_plans(self.policy)
        if not exact:
            return
        closed = set(self.closed)
        units = [unit.trajectory(closed) for unit in self.earlier.values()]
        units += [self.units[name].trajectory(closed) for name in self.valid()]
        counts = [2] * len(self.problem.names)
        hat, tilde = hat_estimates(units, counts), tilde_estimates(units, counts)
        found = iter(self.session.coefficients())
        for m, size in enumerate(self.problem.dimensions):
            for arm in range(2):
                rows = [next(found) for _ in range(size)]
                assert_same([row.hat for row in rows], hat[m][arm])
                if isinstance(self.policy, dtr.DTRBandit):
                    assert_same([row.tilde for row in rows], tilde[m][arm])

    def a_resumed_session_is_the_same(self) -> None:
        resumed = dtr.Session.resume(self.session.log)
        assert resumed.log == self.session.log
        if self.learns:
            assert resumed.coefficients() == self.session.coefficients()

    def end(self) -> None:
        """Derive every decision again, and count what was said."""
        dtr.verify(self.session.log)
        summary = self.session.summary()
        assert "enrolled" in str(summary)
        assert summary.taught == len(self.earlier)
        assert summary.status["voided"] == len(self.units) - len(self.valid())
        assert len(summary.closed) == len(self.closed)
        contraindicated = sum(bool(unit.excluding) for unit in self.units.values())
        assert summary.status["with contraindications"] == contraindicated


class Drawn(NamedTuple):
    """What a step needs, drawn from a generator."""

    rng: np.random.Generator

    def below(self, end: int) -> int:
        return int(self.rng.integers(end))

    def number(self) -> float:
        return (self.below(601) - 300) / 100

    def pair(self) -> list[float]:
        return [self.number(), self.number()]

    def barring(self) -> int:
        """Return which arm of which stage is contraindicated, often none."""
        return self.below(PAST_BARRINGS)

    def reason(self, *reasons: str) -> str:
        return self.choice(*(reasons or ("because", "for another reason")))

    def choice(self, *words: str) -> str:
        return words[self.below(len(words))]


class Step(NamedTuple):
    """Something that may happen, and when it may."""

    possible: Callable[[Course], object]
    take: Callable[[Course, Drawn], None]


def always(_: Course) -> bool:
    return True


def has_units(course: Course) -> bool:
    return bool(course.units)


def has_open_units(course: Course) -> bool:
    return any(unit.open for unit in course.units.values())


STEPS = (
    Step(lambda c: len(c.units) < c.past + FRESH, lambda c, d: c.enroll(d.number(), d.barring())),
    Step(has_open_units, lambda c, d: c.advance(d.below(99), d.pair(), whole=d.below(2) == 0, barring=d.barring())),
    Step(has_open_units, lambda c, d: c.advance_the_last(d.pair())),
    Step(has_units, lambda c, d: c.say_a_context_again(
        d.below(99), d.below(99), d.number(), d.choice("as said", "as it holds", "otherwise"))),
    Step(has_units, lambda c, d: c.complete(d.below(99), d.number(), same=d.below(2) == 0)),
    Step(has_units, lambda c, d: c.respond_when_nothing_is_due(d.below(99), d.pair())),
    Step(has_units, lambda c, d: c.override(d.below(99), d.below(2), d.below(99), d.reason())),
    Step(lambda c: any(unit.alternatives() for unit in c.units.values()),
         lambda c, d: c.override_late(d.below(99), d.below(99))),
    Step(has_open_units, lambda c, d: c.override_the_last(d.below(99))),
    Step(has_units, lambda c, d: c.correct_outcome(d.below(99), d.number(), d.reason())),
    Step(lambda c: any(c.units[name].outcome is not None for name in c.valid()),
         lambda c, d: c.correct_an_outcome_there_and_back(d.below(99), d.number())),
    Step(has_units, lambda c, d: c.correct_context(d.below(99), d.below(99), d.number(), d.reason())),
    Step(always, lambda c, d: c.hold_or_release(d.reason())),
    Step(lambda c: has_units(c) and sum(unit.withdrawn is not None for unit in c.units.values()) < 3,
         lambda c, d: c.withdraw(d.below(99), d.reason("moved away", "ill"))),
    Step(lambda c: len(c.units) - len(c.valid()) < 6 and len(c.valid()) > 1,
         lambda c, d: c.void(d.below(99), d.reason("not eligible", "enrolled twice"))),
    Step(lambda c: len(c.valid()) < len(c.units), lambda c, d: c.say_more_of_a_void_unit(d.below(99), d.number())),
    Step(lambda c: not set(c.earlier) <= set(c.units),
         lambda c, d: c.say_more_of_a_unit_of_the_earlier_trial(d.below(99), d.number())),
    Step(lambda c: c.closing and len(c.closed) < 2, lambda c, d: c.close_arm(d.below(99), d.reason())),
    Step(always, lambda c, d: c.close_an_arm_that_must_stay(d.below(99), d.reason())),
    Step(lambda c: c.closed, lambda c, d: c.close_an_arm_again(d.below(99))),
)  # fmt: skip


def assert_same(found: list[float | None], expected: Vector | None) -> None:
    if expected is None:
        assert found == [None] * len(found)
    else:
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)
