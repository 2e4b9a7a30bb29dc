"""Courses of events in a session, against a naive model and the plain refit (``session_machine/course.py``).

Their seeds are fixed, and every step is taken at least once in each: what is counted below does not hang on chance.
``make soak`` searches for other courses.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dtrbandit.policies.registry import learns
from effort import scaled
from session_machine.course import Course
from session_machine.problems import THREE, TWO, Problem

COURSES, STEPS = scaled(12), max(20, scaled(40))


@pytest.mark.slow
@pytest.mark.enlarged
@pytest.mark.parametrize(
    ("problem", "policy"),
    [(problem, policy) for problem in (TWO, THREE) for policy in problem.policies],
    ids=lambda value: f"{len(value.names)} stages" if isinstance(value, Problem) else repr(value),
)
def test_any_course_of_events_is_told_as_the_naive_model_and_decided_as_the_plain_refit(
    problem: Problem, policy: Any
) -> None:
    tally: Counter[str] = Counter()

    for seed in range(COURSES):
        course = Course(problem, policy, tally)
        course.begin(seed)
        for step in range(STEPS):
            course.take_step([seed, 3, step])
        course.take_every_step(seed)
        course.end()

    at_least = {
        "completed": 4, "late override": 3, "corrected outcome": 2, "corrected context": 1, "there and back": 1,
        "refused while held": 1, "voided after it taught": 1, "a correction said again": 1, "contraindicated": 4,
        "closed": 1, "last or stuck": 1,
    }  # fmt: skip
    assert {what: tally[what] for what in at_least if tally[what] < at_least[what] * COURSES} == {}
    assert tally["taught"] == 9 * (COURSES // 2)
    if learns(policy):
        assert tally["free"] >= 3 * COURSES
        assert tally["ties"] <= 0.05 * tally["free"]
