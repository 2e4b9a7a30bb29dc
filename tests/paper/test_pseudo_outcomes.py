"""Pseudo-outcomes (section 3.1; readings 1, 2, 5 and 7), on examples small enough to do by hand.

With an intercept alone, a coefficient is the mean of the targets.
"""

from __future__ import annotations

import pytest

import dtrbandit as dtr

MEANS = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b"), features="1"),
        dtr.Stage("second", arms=("a", "b"), features="1", enter_if="r > 0"),
    ],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)
STAYS, LEAVES = {"r": 1.0}, {"r": 0.0}


def start() -> dtr.Session:
    """Return a session whose rounds 1 to 6 are forced: aa, ab, bb, aa, ab, bb."""
    return dtr.Session(MEANS, dtr.DTRBandit(q=1, delta=1.0), seed=0)


def treat(session: dtr.Session, unit: str, outcome: float, *, response: dict[str, float] = STAYS) -> None:
    session.enroll(unit, {})
    session.respond(unit, response)
    session.complete(unit, outcome)


def hats(session: dtr.Session) -> dict[tuple[str, str], float | None]:
    return {(c.stage, c.arm): c.hat for c in session.coefficients() if c.term == "1"}


def tildes(session: dtr.Session) -> dict[tuple[str, str], float | None]:
    return {(c.stage, c.arm): c.tilde for c in session.coefficients() if c.term == "1"}


def test_arms_without_rows_have_no_estimate() -> None:
    session = start()

    found = hats(session)

    assert found == dict.fromkeys([("first", "a"), ("first", "b"), ("second", "a"), ("second", "b")])


def test_a_pseudo_outcome_is_the_best_estimate_at_the_second_stage() -> None:
    session = start()

    treat(session, "u1", 10.0)  # aa
    treat(session, "u2", 4.0)  # ab

    assert hats(session)["second", "a"] == pytest.approx(10.0)
    assert hats(session)["second", "b"] == pytest.approx(4.0)
    assert hats(session)["first", "a"] == pytest.approx(10.0)  # both units could have had 10
    assert hats(session)["first", "b"] is None


def test_an_arm_that_is_infeasible_for_a_unit_has_no_part_in_its_pseudo_outcome() -> None:
    session = start()

    treat(session, "u1", 10.0)  # aa
    treat(session, "u2", 4.0)  # ab
    treat(session, "u3", 2.0)  # bb

    assert hats(session)["second", "b"] == pytest.approx(3.0)
    assert hats(session)["first", "a"] == pytest.approx(10.0)
    assert hats(session)["first", "b"] == pytest.approx(3.0)  # not 10: after b only b is feasible


def test_the_pseudo_outcome_of_an_early_leaver_is_its_outcome() -> None:
    session = start()

    treat(session, "u1", 10.0)  # aa
    treat(session, "u2", 4.0)  # ab
    treat(session, "u3", 2.0)  # bb
    treat(session, "u4", -8.0, response=LEAVES)  # a

    assert hats(session)["first", "a"] == pytest.approx((10.0 + 10.0 - 8.0) / 3)
    assert hats(session)["second", "a"] == pytest.approx(10.0)


def test_the_row_of_an_early_leaver_counts_only_once_its_outcome_is_in() -> None:
    session = start()
    treat(session, "u1", 10.0)  # aa

    session.enroll("u2", {})  # ab, leaves
    session.respond("u2", LEAVES)
    before = hats(session)
    session.complete("u2", -8.0)

    assert before["first", "a"] == pytest.approx(10.0)
    assert hats(session)["first", "a"] == pytest.approx((10.0 - 8.0) / 2)


def test_a_first_stage_row_counts_once_the_second_context_is_in() -> None:
    session = start()
    treat(session, "u1", 10.0)  # aa
    treat(session, "u2", 4.0)  # ab

    session.enroll("u3", {})  # bb
    before = hats(session)
    session.respond("u3", STAYS)

    assert before["first", "b"] is None
    assert hats(session)["first", "b"] == pytest.approx(4.0)  # no outcome of its own is needed


def test_a_row_whose_target_cannot_be_computed_is_left_out() -> None:
    session = start()
    treat(session, "u1", 10.0)  # aa
    treat(session, "u2", -3.0, response=LEAVES)  # a

    session.enroll("u3", {})  # bb; after b only b is feasible, which has no row at the second stage
    session.respond("u3", STAYS)
    before = hats(session)
    session.complete("u3", 6.0)

    assert before["first", "b"] is None
    assert before["first", "a"] == pytest.approx((10.0 - 3.0) / 2)
    assert hats(session)["first", "b"] == pytest.approx(6.0)


def test_later_outcomes_revise_earlier_pseudo_outcomes() -> None:
    session = start()
    for unit, outcome in [("u1", 10.0), ("u2", 4.0), ("u3", 2.0)]:  # aa, ab, bb
        treat(session, unit, outcome)

    treat(session, "u4", -10.0)  # aa: the mean of a falls to 0, below the mean of b

    assert hats(session)["second", "a"] == pytest.approx(0.0)
    assert hats(session)["first", "a"] == pytest.approx(3.0)  # max(0, 3), for all three units


def test_forced_rounds_enter_both_estimates_and_free_rounds_only_the_hat() -> None:
    session = start()
    outcomes = [10.0, 4.0, 2.0, 12.0, 4.0, 2.0]  # aa, ab, bb twice
    for t, outcome in enumerate(outcomes, 1):
        treat(session, f"u{t}", outcome)
    forced = tildes(session)

    treat(session, "u7", 17.0)  # free: a is better at both stages, by far more than delta / 2

    assert forced == hats_of_forced_block()
    assert tildes(session) == forced
    assert hats(session)["second", "a"] == pytest.approx((10.0 + 12.0 + 17.0) / 3)
    assert hats(session)["first", "a"] == pytest.approx(13.0)
    assert hats(session)["first", "b"] == pytest.approx(3.0)


def hats_of_forced_block() -> dict[tuple[str, str], object]:
    """Return what rounds 1 to 6 give by hand: a is 11 at the second stage, b is 3."""
    return {
        ("first", "a"): pytest.approx(11.0),
        ("first", "b"): pytest.approx(3.0),
        ("second", "a"): pytest.approx(11.0),
        ("second", "b"): pytest.approx(3.0),
    }


def test_slopes_come_from_the_unit_s_own_second_context() -> None:
    design = dtr.Design(
        [
            dtr.Stage("first", arms=("a", "b"), features="0 + x1"),
            dtr.Stage("second", arms=("a", "b"), features="0 + x2"),
        ]
    )
    session = dtr.Session(design, dtr.DTRBandit(q=1, delta=1.0), seed=0)

    for unit, x1, x2, outcome in [("u1", 1.0, 2.0, 6.0), ("u2", 2.0, -1.0, 1.0)]:  # aa, ab
        session.enroll(unit, {"x1": x1})
        session.respond(unit, {"x2": x2})
        session.complete(unit, outcome)

    found = {(c.stage, c.arm, c.term): c.hat for c in session.coefficients()}
    assert found["second", "a", "x2"] == pytest.approx(3.0)  # 6 / 2
    assert found["second", "b", "x2"] == pytest.approx(-1.0)  # 1 / -1
    # targets: u1 max(3, -1) * 2 -> max(6, -2) = 6; u2 max(-3, 1) = 1
    assert found["first", "a", "x1"] == pytest.approx((1.0 * 6.0 + 2.0 * 1.0) / (1.0 + 4.0))
