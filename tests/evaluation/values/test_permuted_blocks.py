"""Permuted forced blocks: their probabilities, that their scores have the value as their mean, and what has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.values.adaptive import predictable_scores, recorded_models
from dtrbandit.evaluation.values.adherence import decisions, regime_risk_sets
from dtrbandit.evaluation.values.augmented import OutcomeModel
from dtrbandit.evaluation.values.past_propensities import past_propensities, weights_at_enrolment
from dtrbandit.evaluation.values.permuted_blocks import permuted_blocks, scheduled_probabilities
from evaluation.collected import LEAVERS, REGIMES, synthetic_session

FLOOR = dtr.DTRBandit(q=2, delta=1.0, floor=0.2, schedule="permuted")
PLANS = (("a", "a"), ("a", "b"), ("b", "b"))
THREE_PLANS = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1")], plans=[list(plan) for plan in PLANS]
)
Q, SLOTS = 3, 9
A_THEN_B = dtr.FixedRegime(rule={"first": "a", "second": "b"})


def three_plans_log(units: int) -> Any:
    """Let units come whose outcome depends on themselves and their plan."""
    session = dtr.Session(THREE_PLANS, dtr.DTRBandit(q=Q, delta=1.0, schedule="permuted", floor=0.1), seed=5)
    for t in range(units):
        first = session.enroll(f"u{t}", {})
        second = session.respond(f"u{t}", {})
        assert second is not None
        session.complete(f"u{t}", outcome_of(t, PLANS.index((first.arm, second.arm))))
    return session.log


def outcome_of(t: int, plan: int) -> float:
    """Return an outcome that depends on the unit and its plan, with no pattern."""
    return float(np.random.default_rng([t, plan]).normal()) + plan


def distinct_orders() -> Iterator[tuple[int, ...]]:
    """Give each order of a block's plans once."""
    yield from _orders((Q,) * len(PLANS))


def _orders(left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not any(left):
        yield ()
    for plan, slots in enumerate(left):
        if slots:
            rest = tuple(own - (other == plan) for other, own in enumerate(left))
            yield from ((plan, *order) for order in _orders(rest))


def with_order(cohort: Cohort, block: NDArray[np.int64], order: tuple[int, ...]) -> Cohort:
    """Return the cohort with another order of plans in a block, and the outcomes that the units would have had."""
    origin, recorded = recorded_of(cohort)
    arms, outcome = cohort.arms.copy(), cohort.outcome.copy()
    for t, plan in zip(block.tolist(), order, strict=True):
        arms[t], outcome[t] = ["ab".index(arm) for arm in PLANS[plan]], outcome_of(t, plan)
    return replace(cohort, arms=arms, outcome=outcome, origin=replace(origin, recorded=replace(recorded, arms=arms)))


def scores_of(cohort: Cohort, regime: dtr.FixedRegime) -> NDArray[np.float64]:
    risk_sets = regime_risk_sets(cohort, decisions(cohort, regime), tuple(recorded_models(cohort)))
    return predictable_scores(cohort, risk_sets, OutcomeModel(), bounded=True)


def test_a_probability_is_the_share_of_the_plans_that_agree_so_far() -> None:
    first = scheduled_probabilities(LEAVERS, np.zeros((1, 0), dtype=np.int64))
    second = scheduled_probabilities(LEAVERS, np.array([[0], [1]]))

    assert first.tolist() == [[0.5, 0.5]]
    assert second.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    uneven = scheduled_probabilities(THREE_PLANS, np.zeros((1, 0), dtype=np.int64))
    assert uneven[0] == pytest.approx([2 / 3, 1 / 3])


def test_over_all_orders_of_a_block_each_score_has_the_value_as_its_mean() -> None:
    """Given the past and the units. So h (Γ − value) has the mean 0: h is the same for all orders.

    The variance of the block's sum is that of independent units times slots / (slots − 1) at most, whatever the units.
    """
    cohort, block = Cohort.from_log(three_plans_log(2 * SLOTS)), np.arange(SLOTS, 2 * SLOTS)
    assert permuted_blocks(cohort).scored.all()
    scores, weights = [], []
    for number, order in enumerate(distinct_orders()):
        other = with_order(cohort, block, order)
        scores.append(scores_of(other, A_THEN_B)[block])
        if number % 400 == 0:
            weights.append(weights_at_enrolment(other, decisions(other, A_THEN_B), past_propensities(cohort)))
    found = np.array(scores)

    assert len(found) == 1_680
    np.testing.assert_allclose(found.mean(axis=0), [outcome_of(t, 1) for t in block.tolist()], atol=1e-10)
    assert found.sum(axis=1).var() <= found.var(axis=0).sum() * SLOTS / (SLOTS - 1) + 1e-10
    np.testing.assert_array_equal(weights, [weights[0]] * len(weights))


def test_for_units_that_are_alike_the_sum_of_squares_is_the_variance_of_a_block_or_more() -> None:
    """Two arms, four slots, outcomes of two kinds; over all units and all orders together."""
    plans = np.array(sorted(set(permutations((0, 0, 1, 1)))))
    mu, sums, squares = np.array([0.7, 0.2]), [], []
    for kinds in np.ndindex(2, 2, 2, 2):
        outcomes = np.array([[0.0, 1.0], [3.0, -1.0]])[list(kinds)]  # (units, arms)
        for arms in plans:
            taken = arms[:, None] == np.arange(2)
            gamma = mu + taken / 0.5 * (outcomes - mu)
            moved = gamma[:, 0] - gamma[:, 1] - 1.5  # the difference of the mean outcomes, 3/2 and 0
            sums.append(moved.sum() ** 2)
            squares.append((moved**2).sum())

    assert np.mean(sums) <= np.mean(squares)


def test_units_of_forced_blocks_in_the_order_of_the_paper_have_no_score() -> None:
    paper = dtr.DTRBandit(q=2, delta=1.0, floor=0.2)

    found = permuted_blocks(Cohort.from_log(synthetic_session(paper, 40, seed=1).log))

    assert not found.scored.any()


def test_in_a_block_everything_is_settled_before_the_block_begins() -> None:
    cohort = Cohort.from_log(synthetic_session(FLOOR, 40, seed=1).log)
    _, recorded = recorded_of(cohort)
    found, block = permuted_blocks(cohort), np.arange(24, 32)  # the fourth block of eight is forced

    assert np.flatnonzero(found.scored).tolist() == [*range(16), *range(24, 32)]
    assert (found.start[block] == found.start[24]).all()
    assert (found.start[block[1:]] < recorded.enrolled[block[1:]]).all()
    changed = replace(cohort, outcome=np.where(np.arange(40) >= 24, cohort.outcome + 50.0, cohort.outcome))
    followed = (cohort.arms[block] == 1).all(axis=1)
    before, after = (scores_of(each, REGIMES["(2, 2)"])[block] for each in (cohort, changed))
    np.testing.assert_array_equal(after[~followed], before[~followed])
    np.testing.assert_allclose((after - before)[followed], 4 * 50.0)


def test_a_block_with_an_arm_that_was_contraindicated_has_no_score_and_it_is_said() -> None:
    session = dtr.Session(THREE_PLANS, dtr.DTRBandit(q=Q, delta=1.0, schedule="permuted", floor=0.1), seed=5)
    for t in range(120):
        why: dict[str, Any] = {"exclude": {"first": ["a"]}, "reason": "allergy"} if t == 30 else {}
        session.enroll(f"u{t}", {}, **why)
        session.respond(f"u{t}", {})
        session.complete(f"u{t}", outcome_of(t, 0))
    cohort = Cohort.from_log(session.log)

    found = permuted_blocks(cohort)

    assert not found.scored[27:36].any()  # the fourth block
    assert found.scored[:18].all()
    assert found.scored[63:72].all()  # the eighth
    said = " ".join(str(dtr.evaluate(cohort, {"b": dtr.FixedRegime(rule={"first": "b", "second": "b"})})).split())
    assert "9 units of 1 forced blocks have no score: an arm was contraindicated or closed" in said


def test_a_unit_with_an_override_that_leaves_its_plan_counts_as_decided() -> None:
    session = synthetic_session(FLOOR, 40, seed=1)
    before = Cohort.from_log(session.log)
    session.override("u30", "1" if before.arms[29, 1] == 1 else "2", reason="allergy", stage="second")
    after = Cohort.from_log(session.log)

    scored = partial(scores_of, regime=REGIMES["(2, 2)"])

    np.testing.assert_array_equal(scored(after.as_scheduled()), scored(before))
