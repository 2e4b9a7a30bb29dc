"""Weights settled at enrolment: what the policy says, that it is past by then, and the formula."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.belief import believed
from dtrbandit.environments import Synthetic
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.replay.players import arrays_of
from dtrbandit.evaluation.values.adherence import decisions
from dtrbandit.evaluation.values.past_propensities import (
    PropensitiesByLevel,
    _propensities,
    past_propensities,
    weights_at_enrolment,
)
from dtrbandit.policies.lsvi_ucb import looks_only_back
from dtrbandit.policies.registry import examples, learns
from dtrbandit.record.events import Responded
from evaluation.collected import LEAVERS_REGIMES, REGIMES, leavers_session, synthetic_session
from plain_process import plain_process

EPSILON = dtr.EpsilonGreedy(epsilon=0.2)


def with_a_prior(policy: Any, units: int, *, seed: int) -> dtr.Session:
    """Let units come after an earlier trial has taught."""
    earlier = Cohort.from_log(synthetic_session(dtr.UniformRandom(), 40, seed=9).log)
    drawn = Synthetic().draw(units, np.random.default_rng([33, seed]))
    session = dtr.Session(Synthetic().design, policy, seed=seed, prior=earlier)
    for t in range(units):
        first = int(session.enroll(f"n{t}", {"x1": float(drawn.contexts[0]["x1"][t])}).arm) - 1
        told = session.respond(f"n{t}", {"x2": float(drawn.contexts[1]["x2"][t, first])})
        assert told is not None
        session.complete(f"n{t}", float(drawn.outcome[t, first, int(told.arm) - 1]))
    return session


THREE_STAGES = dtr.Design([dtr.Stage(f"s{m}", ("a", "b"), f"1 + x{m}") for m in range(3)])


def closing_session(policy: Any, units: int, *, seed: int, late: int = 0) -> dtr.Session:
    """Let units come, and half way close the arm that the last had first; ``late`` units go on only afterwards."""
    rng, session = np.random.default_rng([34, seed]), dtr.Session(THREE_STAGES, policy, seed=seed)
    drawn, half, first = rng.normal(size=(units, 4)).tolist(), units // 2, ""

    def finish(t: int) -> None:
        for m in (1, 2):
            session.respond(f"u{t + 1}", {f"x{m}": drawn[t][m]})
        session.complete(f"u{t + 1}", sum(drawn[t]))

    for t in range(units):
        if t == half:
            session.close_arm("s0", first, reason="harm")
            for waiting in range(half - late, half):
                finish(waiting)
        first = session.enroll(f"u{t + 1}", {"x0": drawn[t][0]}).arm
        if not half - late <= t < half:
            finish(t)
    return session


def excluding_session(policy: Any, units: int, *, seed: int) -> dtr.Session:
    """Let units come of whom some cannot have an arm, which is known when they enroll."""
    rng, session = np.random.default_rng([35, seed]), dtr.Session(THREE_STAGES, policy, seed=seed)
    for t in range(units):
        arms = {f"s{m}": ["ab"[t % 2]] for m in range(3) if t % (m + 3) == 0}
        why: dict[str, Any] = {"exclude": arms, "reason": "allergy"} if arms else {}
        session.enroll(f"u{t + 1}", {"x0": float(rng.normal())}, **why)
        for m in (1, 2):
            session.respond(f"u{t + 1}", {f"x{m}": float(rng.normal())})
        session.complete(f"u{t + 1}", float(rng.normal()))
    return session


COLLECTED: list[tuple[Callable[..., dtr.Session], Any]] = [
    (synthetic_session, EPSILON),
    (synthetic_session, dtr.Greedy(floor=0.1)),
    (synthetic_session, dtr.DTRBandit(q=1, delta=0.5, floor=0.1)),
    (leavers_session, EPSILON),
    (with_a_prior, EPSILON),
    (with_a_prior, dtr.DTRBandit(q=1, delta=0.5, floor=0.1)),
    (closing_session, EPSILON),
    (closing_session, dtr.DTRBandit(q=1, delta=0.5, floor=0.1)),
    (excluding_session, EPSILON),
    (excluding_session, dtr.DTRBandit(q=1, delta=0.5, floor=0.1)),
]


@pytest.mark.parametrize(("collect", "policy"), COLLECTED)
def test_asked_about_the_unit_that_comes_next_the_policy_says_what_it_then_does(
    collect: Callable[..., dtr.Session], policy: Any
) -> None:
    """Without delay nothing happens between the decisions of a unit, so that all of them are foretold."""
    cohort = Cohort.from_log(collect(policy, 60, seed=3).log)
    origin, recorded = recorded_of(cohort)
    assert origin.log is not None
    free, asked_about = ~recorded.forced.any(axis=1), 0

    for t in np.flatnonzero(free).tolist():
        belief = believed(origin.log[: recorded.enrolled[t]], None, None)
        belief.state.reserve(256)  # room alone is no trace
        before = pickle.dumps(belief.state)
        (found,) = _propensities(belief, arrays_of(cohort), np.array([t]))
        assert pickle.dumps(belief.state) == before  # asking leaves no trace
        for m, own in enumerate(recorded.propensities):
            known = np.isfinite(own[t])
            assert found[m, : own.shape[1]][known] == pytest.approx(own[t][known])
            asked_about += int(known.any())

    assert asked_about > 30


LEARNING = [policy for policy in examples() if learns(policy) and looks_only_back(policy, 3)]


@pytest.mark.parametrize("policy", LEARNING, ids=repr)
def test_asked_about_a_unit_with_a_closed_arm_the_policy_says_what_it_gives_one_that_had_it_before(policy: Any) -> None:
    """Units that were given an arm go on after it was closed. Past propensities just before foretell what they get."""
    cohort = Cohort.from_log(closing_session(policy, 90, seed=4, late=6).log)
    origin, recorded = recorded_of(cohort)
    assert origin.log is not None
    closed = cohort.arms[44, 0]
    gone_on = [t for t in range(39, 45) if cohort.arms[t, 0] == closed]

    for t in gone_on:
        belief = believed(origin.log[: _first_response(origin.log, f"u{t + 1}")], None, None)
        (found,) = _propensities(belief, arrays_of(cohort), np.array([t]))
        assert found[0].tolist() == [float(arm != closed) for arm in range(2)]  # a newcomer cannot have it
        for m in (1, 2):
            np.testing.assert_allclose(found[m], recorded.propensities[m][t], rtol=1e-12)


def _first_response(log: Any, unit: str) -> int:
    """Return the place in a log where a unit first responds."""
    return next(i for i, event in enumerate(log) if isinstance(event, Responded) and event.unit == unit)


@pytest.mark.parametrize("policy", LEARNING, ids=repr)
def test_what_is_said_of_units_with_a_closed_arm_are_probabilities(policy: Any) -> None:
    cohort = Cohort.from_log(closing_session(policy, 90, seed=4).log)

    by_level = [level for level in past_propensities(cohort).levels if level.units[0] >= 45]

    closed = cohort.arms[44, 0]
    assert any((cohort.arms[level.past, 0] == closed).any() for level in by_level)
    for level in by_level:
        np.testing.assert_allclose(level.propensities.sum(axis=2), 1.0)
        assert (level.propensities[:, 0, closed] == 0.0).all()


def digests() -> list[str]:
    """Return the past propensities of each policy, all levels together."""
    found = []
    for collect, policy in COLLECTED:
        cohort = Cohort.from_log(collect(policy, 40, seed=3).log)
        by_level = past_propensities(cohort).levels
        assert by_level
        found.append(sha256(b"".join(level.propensities.tobytes() for level in by_level)).hexdigest())
    return found


@pytest.mark.slow
def test_uncompiled_the_policies_say_the_same() -> None:
    with plain_process() as process:
        other = process.ask(digests)

        assert digests() == other.result()


@pytest.mark.parametrize("delay", [0.0, 10.0])
def test_what_a_weight_rests_on_was_known_before_its_unit_came(delay: float) -> None:
    """The log up to the end of some unit gives all units that it has the weights that the whole log gives them."""
    log = synthetic_session(EPSILON, 80, seed=1, delay=delay).log
    whole = Cohort.from_log(log)
    regime = REGIMES["(2, 2)"]
    expected = weights_at_enrolment(whole, decisions(whole, regime), past_propensities(whole))

    for events in (330, 370):
        part = Cohort.from_log(log[:events])
        found = weights_at_enrolment(part, decisions(part, regime), past_propensities(part))

        assert len(part) > 20
        np.testing.assert_array_equal(found, expected[: len(part)])
    assert len(np.unique(expected)) > 5


def test_a_weight_is_that_of_the_formula() -> None:
    """h = v^(−1/2), v = the mean of 1 / (e₁ e₂) over those whom the regime leads on, and of 1 / e₁ for leavers."""
    cohort = Cohort.from_log(leavers_session(EPSILON, 100, seed=2).log)
    regime = LEAVERS_REGIMES["(a, b)"]
    _, recorded = recorded_of(cohort)
    decided, past = decisions(cohort, regime), past_propensities(cohort)

    found = weights_at_enrolment(cohort, decided, past)

    for level in past.levels:
        one: list[float] = []
        two: list[tuple[float, float]] = []
        for s, chances in zip(level.past.tolist(), level.propensities, strict=True):
            one.append(1 / chances[0, 0])
            if cohort.arms[s, 0] == 0:
                weight = 1 / recorded.propensity[s, 0]
                entered = cohort.arms[s, 1] >= 0
                two.append((weight, one[-1] / chances[1, 1] if entered else one[-1]))
        weights, inverse = np.array(two).T
        expected = ((weights @ inverse) / weights.sum()) ** -0.5
        assert found[level.units] == pytest.approx(expected)
    assert cohort.left_early.any()


def test_equal_weights_and_the_reason_where_a_policy_cannot_be_asked() -> None:
    class Own:
        """ε-Greedy, by another name that no log can bring back."""

        def init(self, design: dtr.Design) -> Any:
            return EPSILON.init(design)

        def update(self, state: Any, history: Any, event: Any) -> Any:
            return EPSILON.update(state, history, event)

        def decide(self, state: Any, history: Any, u: float) -> Any:
            return EPSILON.decide(state, history, u)

    cohort = Cohort.from_log(synthetic_session(Own(), 100, seed=1).log)

    past = past_propensities(cohort)

    assert past.levels == ()
    assert (weights_at_enrolment(cohort, decisions(cohort, REGIMES["(2, 2)"]), past) == 1.0).all()
    said = " ".join(str(dtr.evaluate(cohort, REGIMES)).split())
    assert "Equal weights (h = 1): the policy of this log cannot be asked again" in said


def test_nothing_is_asked_before_anybody_has_ended() -> None:
    cohort = Cohort.from_log(synthetic_session(EPSILON, 30, seed=1, delay=50.0).log)

    past = past_propensities(cohort)

    assert all(len(level.past) for level in past.levels)
    assert isinstance(past, PropensitiesByLevel)
