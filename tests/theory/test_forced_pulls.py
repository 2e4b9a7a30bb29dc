"""Forced-pull counts against the schedule itself, round by round, and against the lemma."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.design.schedule import forced_plan
from paper.worlds import THREE_PLANS, THREE_STAGES_WITH_GAPS, TWO_BY_TWO, every_plan

PLANS = [TWO_BY_TWO, THREE_PLANS, THREE_STAGES_WITH_GAPS, every_plan(3, 2), every_plan(4)]


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("plans", PLANS)
def test_the_closed_form_counts_what_the_schedule_forces(plans: tuple[tuple[int, ...], ...], q: int) -> None:
    arms = {(m, plan[m]) for plan in plans for m in range(len(plan))}
    counted = dict.fromkeys(arms, 0)

    for t in range(1, 600):
        plan = forced_plan(t, plans, q=q)
        for stage, arm in enumerate(plan or ()):
            counted[stage, arm] += 1

        for stage, arm in arms:
            pulls = theory.forced_pulls(t, plans, q=q, stage=stage, arm=arm)
            low, high = theory.forced_pull_bounds(t, plans, q=q, stage=stage, arm=arm)
            assert pulls == counted[stage, arm]
            assert low <= pulls <= high


def test_the_lemmas_own_step_fails_within_a_block_but_its_bound_holds() -> None:
    """The proof has |𝒯(t)| ≤ 2(n_t + 1)q. Round 30 with q = 1 lies in block 3: n_t = 2 (16 ≤ 30 < 32), and 8 > 6."""
    q, plans = 1, TWO_BY_TWO

    assert theory.forced_pulls(30, plans, q=q, stage=0, arm=0) == 8
    assert all(
        theory.forced_pulls(t, plans, q=q, stage=stage, arm=arm) <= theory.forced_pull_lemma(t, q=q).high
        for t in range(64, 2000)
        for stage in (0, 1)
        for arm in (0, 1)
    )


def test_the_table_shows_the_lemma_only_where_it_speaks() -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    every, some = dtr.Design(stages), dtr.Design(stages, plans=[("a", "a"), ("a", "b"), ("b", "b")])

    early, late = theory.forced_pull_table(63, every, q=1), theory.forced_pull_table(64, every, q=1)
    gaps = theory.forced_pull_table(10_000, some, q=1)

    assert [row.lemma is None for row in (*early, *late, *gaps)] == [True] * 4 + [False] * 4 + [True] * 4
    assert [(row.stage, row.arm) for row in late] == [
        ("first", "a"), ("first", "b"), ("second", "a"), ("second", "b"),
    ]  # fmt: skip
    assert gaps[0].pulls == 2 * gaps[1].pulls  # two plans begin with a, one with b


def test_before_the_first_round_nothing_is_forced() -> None:
    assert theory.forced_pulls(0, TWO_BY_TWO, q=3, stage=0, arm=0) == 0
    assert theory.forced_pull_bounds(0, TWO_BY_TWO, q=3, stage=0, arm=0) == (0.0, 0.0)


@pytest.mark.parametrize(("t", "q"), [(-1, 1), (1, 0), (1.5, 1)])
def test_impossible_rounds_are_refused(t: int, q: int) -> None:
    with pytest.raises(dtr.DesignError, match="must be a whole number"):
        theory.forced_pulls(t, TWO_BY_TWO, q=q, stage=0, arm=0)
