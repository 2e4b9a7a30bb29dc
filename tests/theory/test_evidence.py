"""Evidence: the same units seen through an environment and through a session."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import Synthetic, Tabulated
from dtrbandit.theory.evidence import Visit

UNITS = 250


def play(units: int = UNITS) -> dtr.Session:
    """Return a session of the synthetic problem, every unit through but the last two."""
    drawn = Synthetic().draw(units, np.random.default_rng(0))
    session = dtr.Session(drawn.design, dtr.DTRBandit(q=3, delta=0.5), seed=0)
    for i in range(units):
        first = int(session.enroll(f"u{i}", {"x1": drawn.contexts[0]["x1"][i]}).arm) - 1
        if i < units - 1:
            decision = session.respond(f"u{i}", {"x2": drawn.contexts[1]["x2"][i, first]})
            assert decision is not None
            if i < units - 2:
                session.complete(f"u{i}", drawn.outcome[i, first, int(decision.arm) - 1])
    return session


@pytest.fixture(scope="module")
def session() -> dtr.Session:
    return play()


def test_a_sessions_units_are_seen_where_their_arms_led_them(session: dtr.Session) -> None:
    given = session.summary().given

    root, *second = theory.from_session(session).visits

    assert root.reached.all()
    assert [visit.arms for visit in second] == [(0,), (1,)]
    assert sum(visit.reached.sum() for visit in second) == UNITS - 1 == sum(given["second"].values())
    assert not (second[0].reached & second[1].reached).any()


def test_a_sessions_q_is_its_q_hat(session: dtr.Session) -> None:
    root, after_1, _ = theory.from_session(session).visits
    unit = int(np.flatnonzero(after_1.reached)[7])

    first = session.q_hat("first", {"x1": root.psi[unit, 1]})
    second = session.q_hat("second", {"x2": after_1.psi[unit, 1]})

    assert root.q[unit].tolist() == pytest.approx(list(first.values()))
    assert after_1.q[unit].tolist() == pytest.approx(list(second.values()))


def test_estimates_from_a_session_come_with_caveats(session: dtr.Session) -> None:
    evidence = theory.from_session(session)
    margin, diversity = theory.estimate_margin(evidence), theory.estimate_diversity(evidence, delta=0.1)

    for text in (str(margin), str(diversity)):
        assert "from a session of 250 units" in text
        assert text.count("Caveat: ") == 3
        assert "Q-functions are estimated, on the same units" in text
    assert 0 < diversity.p[0] < 1
    assert len(margin.stages) == 2


def test_what_was_never_seen_makes_p_smaller(session: dtr.Session) -> None:
    """A unit counts at stage 2 only if it was given the arm that is best by Δ: its p′ is at most the stage-1 total."""
    diversity = theory.estimate_diversity(theory.from_session(session), delta=0.1)

    first = sum(region.probability for region in diversity.regions[0])

    assert sum(region.probability for region in diversity.regions[1]) <= first


def test_corrected_columns_and_overridden_arms_count_as_they_are(session: dtr.Session) -> None:
    changed = dtr.Session.resume(session.log)
    unit = next(i for i in range(UNITS - 2) if changed.log and _arm(changed, f"u{i}") == "1")

    changed.correct(f"u{unit}", stage="first", context={"x1": 0.123}, reason="typing error")
    changed.override(f"u{unit}", "2", stage="first", reason="allergy")
    root, after_1, after_2 = theory.from_session(changed).visits

    assert root.psi[unit, 1] == 0.123
    assert (after_1.reached[unit], after_2.reached[unit]) == (False, True)


def _arm(session: dtr.Session, unit: str) -> str:
    return next(event.decision.arm for event in session.log if getattr(event, "decision", None) and event.unit == unit)  # type: ignore[union-attr]


def test_early_leavers_and_infeasible_arms_are_left_out() -> None:
    stages = [
        dtr.Stage("first", ("a", "b"), "1 + x"),
        dtr.Stage("second", ("a", "b"), "1 + z", enter_if="z > 0"),
    ]
    design = dtr.Design(stages, plans=[("a", "a"), ("a", "b"), ("b", "b")])
    session, rng = dtr.Session(design, dtr.DTRBandit(q=2, delta=0.5)), np.random.default_rng(0)
    entered = 0
    for i in range(60):
        x, z = rng.standard_normal(2)
        session.enroll(f"u{i}", {"x": x})
        entered += session.respond(f"u{i}", {"z": z}) is not None
        session.complete(f"u{i}", x + z)

    root, after_a, after_b = theory.from_session(session).visits

    assert root.reached.sum() == 60
    assert after_a.reached.sum() + after_b.reached.sum() == entered < 60
    assert np.isnan(after_b.q[after_b.reached, 0]).all()
    assert np.isfinite(after_b.q[after_b.reached, 1]).all()
    assert theory.estimate_margin(theory.from_session(session)).stages[1].units == after_a.reached.sum()


def test_what_is_contraindicated_for_a_unit_is_no_arm_of_its_own(session: dtr.Session) -> None:
    told = dtr.Session.resume(session.log)
    told.enroll("allergic", {"x1": 0.5}, exclude={"first": ["2"], "second": ["1"]}, reason="allergy")
    told.respond("allergic", {"x2": 0.5})

    root, after_1, _ = theory.from_session(told).visits

    assert np.isnan(root.q[-1]).tolist() == [False, True]
    assert np.isnan(after_1.q[-1]).tolist() == [True, False]
    assert not np.isnan(root.q[:-1]).any()


def test_an_environments_units_are_seen_under_every_arm() -> None:
    units = Synthetic().draw(50, np.random.default_rng(0))

    root, after_1, after_2 = theory.from_units(units).visits

    assert all(visit.reached.all() for visit in (root, after_1, after_2))
    assert units.q is not None
    assert (after_2.q == units.q[1][:, 1]).all()
    assert (after_2.psi[:, 1] == units.contexts[1]["x2"][:, 1]).all()


def test_the_lead_is_the_distance_to_the_best_other_arm() -> None:
    q = np.array([[3.0, 1.0, 2.5], [np.nan, 1.0, 4.0], [np.nan, np.nan, 0.0]])

    lead = Visit((), np.ones((3, 1)), q, np.ones(3, dtype=bool)).lead

    inf = np.inf
    assert lead.tolist() == [[0.5, -2.0, -0.5], [-inf, -3.0, 3.0], [-inf, -inf, inf]]


def test_what_cannot_be_judged_is_refused(session: dtr.Session) -> None:
    units = Synthetic().draw(10, np.random.default_rng(0))._replace(q=None)

    with pytest.raises(dtr.DesignError, match="does not know its Q-functions"):
        theory.from_environment(Tabulated(units), np.random.default_rng(0), units=5)
    with pytest.raises(dtr.DesignError, match=r"say from_session\(session\)"):
        theory.estimate_margin(session)  # type: ignore[arg-type]
    with pytest.raises(dtr.DesignError, match=r"given no evidence needs an environment such as .*, found 3"):
        theory.estimate_diversity(3)  # type: ignore[arg-type]
    with pytest.raises(dtr.ProtocolError, match=r"Q̂ is not determined yet .* missing: 1 at stage first: intercept, x1"):
        theory.from_session(dtr.Session(units.design, dtr.DTRBandit(q=1, delta=0.5)))
    with pytest.raises(dtr.ProtocolError, match=r"missing: 2 at stage first: intercept, x1 \(at least 2 more units\)"):
        theory.from_session(play(5))  # all were given 1 at the first stage
    with pytest.raises(dtr.ProtocolError, match="estimates nothing"):
        theory.from_session(dtr.Session(units.design, dtr.UniformRandom()))
