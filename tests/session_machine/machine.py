"""Courses that Hypothesis searches for, and shortens when one fails. ``benchmarks/soak.py`` runs many of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from session_machine.course import Course
from session_machine.problems import Problem


class CourseMachine(RuleBasedStateMachine):
    """Abstract: whoever runs it names a problem and a policy."""

    problem: Problem
    policy: Any
    course: Course | None = None

    @initialize(seed=st.integers(0, 99))
    def begin(self, seed: int) -> None:
        course = Course(self.problem, self.policy, Counter())
        course.begin(seed)
        self.course = course

    @rule(seed=st.integers(0, 2**32 - 1))
    def step(self, seed: int) -> None:
        assert self.course is not None
        self.course.take_step(seed)

    def teardown(self) -> None:
        if self.course is not None:
            self.course.end()


def machine_of(problem: Problem, policy: Any) -> type[CourseMachine]:
    """Return the machine of a problem and a policy."""
    return type("Machine", (CourseMachine,), {"problem": problem, "policy": policy})
