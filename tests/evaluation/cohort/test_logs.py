"""Cohorts and logs: units read from a log, and as facts that teach a new trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.errors import LogError, NotEstimable
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import Waiting
from dtrbandit.policies import Choice
from dtrbandit.policies.registry import BUILTIN
from dtrbandit.record import Assigned, History, Taught
from dtrbandit.record.events import Fact
from evaluation import cohorts, small_frame
from evaluation.collected import LEAVERS, leavers_session
from small_session import DESIGN, some_session


@pytest.mark.parametrize("load", [cohorts.adhd, cohorts.autism])
def test_a_log_of_what_happened_gives_the_cohort_back(load: Callable[[], Cohort]) -> None:
    cohort = load()

    again = Cohort.from_log(cohorts.session_of(cohort, dtr.UniformRandom()).log)

    assert again.units == cohort.units
    assert again.design == cohort.design
    np.testing.assert_array_equal(again.arms, cohort.arms)
    np.testing.assert_array_equal(again.outcome, cohort.outcome)
    for one, other in zip(again.features, cohort.features, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_log_is_read_as_it_stands_and_units_under_way_are_left_out() -> None:
    session = dtr.Session(small_frame.DESIGN, dtr.FixedRegime(rule={"first": "ssri", "second": "other"}))
    for unit in ("u1", "u2", "u3", "u4"):
        session.enroll(unit, {"start1": 10.0})
    session.respond("u1", {"end1": 3.0})
    session.complete("u1", -3.0)
    session.correct("u1", outcome=-4.0, reason="typing error")
    session.respond("u2", {"end1": 9.0, "start2": 9.0})
    session.override("u2", "ssri", reason="allergy")
    session.correct("u2", stage="second", context={"start2": 9.5}, reason="typing error")
    session.withdraw("u2", reason="moved away")
    session.override("u3", "other", reason="allergy")
    session.withdraw("u3", reason="moved away")

    cohort = Cohort.from_log(session.log)

    assert cohort.units == ("u1", "u2", "u3")
    assert cohort.arms.tolist() == [[0, -1], [0, 0], [1, -1]]
    np.testing.assert_array_equal(cohort.outcome, [-4.0, np.nan, np.nan])
    np.testing.assert_array_equal(cohort.contexts[1]["start2"], [np.nan, 9.5, np.nan])


def test_a_log_without_an_ended_unit_or_an_opening_is_refused() -> None:
    session = dtr.Session(small_frame.DESIGN, dtr.UniformRandom())
    session.enroll("u1", {"start1": 10.0})

    with pytest.raises(NotEstimable, match="none of the 1 unit of the log has an outcome yet"):
        Cohort.from_log(session.log)
    with pytest.raises(LogError, match="a log begins with Opened, found Enrolled"):
        Cohort.from_log(session.log[1:])
    with pytest.raises(LogError, match="a log begins with Opened and has no other"):
        Cohort.from_log([*session.log, *session.log])


@pytest.mark.parametrize(
    ("policy", "learner"),
    [(dtr.DTRBandit(q=1, delta=1.0), "DTRBandit"), (dtr.Greedy(), "Greedy"), (dtr.UniformRandom(), None)],
)
def test_a_cohort_knows_the_policy_that_learnt_while_it_chose(policy: dtr.Greedy, learner: str | None) -> None:
    cohort = Cohort.from_log(cohorts.session_of(cohorts.adhd(), policy).log)

    assert cohort.collected_by == learner
    assert ("units are not independent" in str(cohort)) == (learner is not None)


def test_the_decisions_of_a_log_are_kept_with_their_probabilities() -> None:
    session = leavers_session(dtr.EpsilonGreedy(epsilon=0.2), 60, seed=3)

    cohort = Cohort.from_log(session.log)

    assert cohort.origin is not None
    recorded = cohort.origin.recorded
    assert recorded is not None
    seen = 0
    for place, event in enumerate(session.log):
        if not isinstance(event, Assigned):
            continue
        decision, i = event.decision, cohort.units.index(event.unit)
        m = LEAVERS.stage_number(decision.stage)
        labels, feasible = LEAVERS.stages[m].arms, LEAVERS.tree.feasible[LEAVERS.tree.after(tuple(cohort.arms[i, :m]))]
        others = [a for a, yes in enumerate(feasible) if yes and labels[a] != decision.arm]
        assert decision.propensity is not None
        assert labels[recorded.arms[i, m]] == decision.arm
        assert recorded.propensity[i, m] == decision.propensity
        assert recorded.forced[i, m] == (decision.reason == "forced")
        assert recorded.feasible[m][i].tolist() == list(feasible)
        assert recorded.propensities[m][i, others].tolist() == [1 - decision.propensity]  # two are feasible
        assert recorded.propensities[m][i].sum() == pytest.approx(1)
        assert recorded.enrolled[i] < place < recorded.ended[i]
        seen += 1
    assert seen == recorded.decided.sum()


def test_of_three_arms_a_log_tells_only_the_probability_of_the_one_decided() -> None:
    design = dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1")])
    session = dtr.Session(design, dtr.EpsilonGreedy(epsilon=0.3), seed=1)
    for t in range(8):
        session.enroll(f"u{t}", {})
        session.complete(f"u{t}", float(t))

    origin = Cohort.from_log(session.log).origin

    assert origin is not None
    assert origin.recorded is not None
    pulls, free = origin.recorded.propensities[0][:3], origin.recorded.propensities[0][3:]
    np.testing.assert_array_equal(pulls, np.eye(3))  # beside a certain arm the others have 0
    assert (np.isnan(free).sum(axis=1) == 2).all()
    assert set(np.nanmax(free, axis=1).tolist()) <= {0.7, 0.15}


def test_units_count_in_the_order_of_enrolment_up_to_the_first_under_way() -> None:
    session = dtr.Session(small_frame.DESIGN, dtr.UniformRandom())
    for unit in ("u1", "u2", "u3", "u4", "u5"):
        session.enroll(unit, {"start1": 10.0})
    for unit in ("u5", "u2", "u1", "u4"):
        session.respond(unit, {"end1": 3.0})
        session.complete(unit, -3.0)

    cohort = Cohort.from_log(session.log)

    assert cohort.units == ("u1", "u2")
    assert cohort.origin is not None
    assert cohort.origin.waiting == Waiting("u3", in_flight=1, ended=2)
    assert "all units from 'u3' on" in " ".join(str(cohort).split())
    session.withdraw("u3", reason="lost")
    assert Cohort.from_log(session.log).units == ("u1", "u2", "u3", "u4", "u5")


def test_if_the_first_unit_is_under_way_nobody_counts() -> None:
    session = dtr.Session(small_frame.DESIGN, dtr.UniformRandom())
    for unit in ("u1", "u2"):
        session.enroll(unit, {"start1": 10.0})
    session.respond("u2", {"end1": 3.0})
    session.complete("u2", -3.0)

    with pytest.raises(NotEstimable, match=r"unit 'u1', which enrolled first, is still under way, and 1 behind it"):
        Cohort.from_log(session.log)


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (dtr.UniformRandom(), "randomised"),
        (dtr.FixedRegime(rule={"first": "a", "second": "b"}), "observational"),
        (dtr.EpsilonGreedy(epsilon=0.1), "adaptive"),
        (dtr.DTRBandit(q=1, delta=1.0), "adaptive"),
    ],
)
def test_the_policy_of_a_log_says_how_arms_came_about(policy: dtr.Greedy, kind: str) -> None:
    origin = Cohort.from_log(leavers_session(policy, 12, seed=0).log).origin

    assert origin is not None
    assert (origin.kind, origin.policy) == (kind, type(policy).__name__)


@dataclass(frozen=True)
class Imitates:
    """A policy that counts, and chooses the rarer arm with a probability of 0.9."""

    rule: str = "rarer"

    def init(self, design: dtr.Design) -> tuple[int, ...]:
        return (0,) * max(design.arm_counts)

    def update(self, state: tuple[int, ...], history: History, event: Fact) -> tuple[int, ...]:
        if isinstance(event, Assigned):
            return tuple(count + (a == history.arms[-1]) for a, count in enumerate(state))
        return state

    def decide(self, state: tuple[int, ...], history: History, u: float) -> Choice:
        rarer, other = sorted((a for a, yes in enumerate(history.feasible) if yes), key=lambda a: state[a])
        chances = [{rarer: 0.9, other: 0.1}.get(a, 0.0) for a in range(len(history.feasible))]
        return Choice(rarer if u < 0.9 else other, "rarer", tuple(chances))


@pytest.mark.parametrize("name", ["UniformRandom", "FixedRegime"])
def test_a_policy_of_ones_own_with_the_name_of_a_built_in_one_counts_as_adaptive(name: str, tmp_path: Path) -> None:
    policy = type(name, (Imitates,), {})()
    session = leavers_session(policy, 40, seed=0)
    dtr.write_log(tmp_path / "log.jsonl", session.log)

    for log in (session.log, dtr.read_log(tmp_path / "log.jsonl")):
        cohort = Cohort.from_log(log)

        assert cohort.origin is not None
        assert (cohort.origin.kind, cohort.collected_by) == ("adaptive", name)
        assert cohort.origin.known_choice is None


@pytest.mark.parametrize(("randomises", "kind"), [(None, "observational"), (True, "randomised")])
def test_a_policy_of_ones_own_that_says_it_learns_nothing_is_believed(
    randomises: bool | None, kind: str, tmp_path: Path
) -> None:
    facts = {"learns": False} if randomises is None else {"learns": False, "randomises": randomises}
    session = leavers_session(type("Mine", (Imitates,), facts)(), 40, seed=0)
    dtr.write_log(tmp_path / "log.jsonl", session.log)

    for log in (session.log, dtr.read_log(tmp_path / "log.jsonl")):
        cohort = Cohort.from_log(log)

        assert cohort.origin is not None
        assert (cohort.origin.kind, cohort.collected_by) == (kind, None)


def lowest(history: History) -> str:
    return "abc"[history.feasible.index(True)]


def test_a_built_in_policy_counts_as_what_it_is_in_a_log_that_only_names_it_and_with_a_function(tmp_path: Path) -> None:
    session = leavers_session(dtr.UniformRandom(), 12, seed=0)
    dtr.write_log(tmp_path / "log.jsonl", session.log)
    ruled = leavers_session(dtr.FixedRegime(rule=lowest), 12, seed=0)

    resumed = dtr.Session.resume(dtr.read_log(tmp_path / "log.jsonl"))

    kinds = [origin.kind for each in (resumed, ruled) if (origin := Cohort.from_log(each.log).origin)]
    assert kinds == ["randomised", "observational"]


# -- contraindicated and closed arms ---------------------------------------------------------------------------


def guarded(units: int = 120, closing: int = 90) -> dtr.Session:
    """Let units come of whom one in ten must not have arm 2 at the second stage; arm 2 at the first is closed late."""
    rng = np.random.default_rng(5)
    session = dtr.Session(Synthetic().design, dtr.EpsilonGreedy(epsilon=0.2), seed=0)
    for t in range(units):
        if t == closing:
            session.close_arm("first", "2", reason="harm")
        exclude = {"second": ["2"]} if t % 10 == 0 else None
        session.enroll(f"u{t}", {"x1": float(rng.random())}, exclude=exclude, reason="allergy" if exclude else None)
        session.respond(f"u{t}", {"x2": float(rng.random())})
        session.complete(f"u{t}", float(rng.normal()))
    return session


def test_the_arms_of_a_policy_that_says_it_learns_nothing_are_not_adaptive() -> None:
    policies = {
        "UniformRandom": dtr.UniformRandom(),
        "FixedRegime": dtr.FixedRegime(rule={"first": "a", "second": "b"}),
    }

    for name, policy in policies.items():
        origin = Cohort.from_log(leavers_session(policy, 12, seed=0).log).origin
        assert origin is not None
        assert origin.kind == ("randomised" if BUILTIN[name].randomises else "observational")
    assert set(policies) == {name for name, kind in BUILTIN.items() if not kind.learns}


def test_arms_that_a_unit_could_not_have_are_not_feasible_for_it() -> None:
    cohort = Cohort.from_log(guarded().log)

    after, excluded = np.arange(120) >= 90, np.arange(120) % 10 == 0
    np.testing.assert_array_equal(cohort.feasible[0][:, 1], ~after)
    np.testing.assert_array_equal(cohort.feasible[1][:, 1], ~excluded)
    assert cohort.feasible[0][:, 0].all()
    assert cohort.feasible[1][:, 0].all()
    assert f"{(after | excluded).sum()} units could not have some arm" in str(cohort)
    np.testing.assert_array_equal(cohort.of(after).feasible[1][:, 1], ~excluded[after])


def test_targets_run_over_the_arms_that_a_unit_could_have_as_in_the_session() -> None:
    session = guarded()
    cohort = Cohort.from_log(session.log)

    fit = dtr.QLearning(cohort.design).fit(cohort)

    assert [own.hat for own in session.coefficients()] == pytest.approx(fit.coef_["estimate"].tolist())


def test_a_unit_without_a_choice_is_no_reason_to_refuse_weights() -> None:
    cohort = Cohort.from_log(guarded(300, closing=300).log)
    regime = dtr.FixedRegime(rule={"first": "1", "second": "2"})

    (found,) = dtr.evaluate(cohort, {"1, then 2 where it may be": regime}).estimates

    given = (cohort.arms[:, 0] == 0) & (cohort.arms[:, 1] == np.where(np.arange(300) % 10 == 0, 0, 1))
    assert found.std_error > 0
    assert found.support.units <= given.sum()
    assert found.support.units > given.sum() - 20  # but for initial pulls


FRAME = pd.DataFrame(
    {
        "start1": [1.0, 2.0, 3.0, 4.0, 5.0],
        "start2": [0.1, None, 0.3, 0.4, None],
        "end1": [9.0, 2.0, 9.0, 2.0, None],
        "A1": ["ssri", "other", "ssri", "other", "ssri"],
        "A2": ["other", None, None, None, None],
        "Y": [1.5, -0.5, None, None, None],
    }
)


def cohort_of(frame: pd.DataFrame, design: dtr.Design = DESIGN, **more: Any) -> dtr.Cohort:
    return dtr.Cohort.from_frame(frame, design, arms=["A1", "A2"], outcome="Y", **more)


def test_each_unit_teaches_as_far_as_it_came() -> None:
    facts = cohort_of(FRAME).teaching(DESIGN)

    assert facts == [
        Taught("1", ({"start1": 1.0}, {"start2": 0.1, "end1": 9.0}), ("ssri", "other"), 1.5),
        Taught("2", ({"start1": 2.0}, {"end1": 2.0}), ("other",), -0.5),  # it left early
        Taught("3", ({"start1": 3.0}, {"start2": 0.3, "end1": 9.0}), ("ssri",), None),  # it entered, then dropped out
        Taught("4", ({"start1": 4.0},), ("other",), None),  # whether it left or was lost, nobody knows
        Taught("5", ({"start1": 5.0},), ("ssri",), None),
    ]


def test_a_session_that_was_taught_fits_as_q_learning_does() -> None:
    """Q-learning by ordinary least squares, on units who all have an outcome, is what Q̂ is then."""
    rng, n = np.random.default_rng(3), 60
    drawn, arms = Synthetic().draw(n, rng), rng.integers(0, 2, size=(n, 2))
    unit = np.arange(n)
    frame = pd.DataFrame(
        {
            "x1": drawn.contexts[0]["x1"],
            "x2": drawn.contexts[1]["x2"][unit, arms[:, 0]],
            "A1": arms[:, 0] + 1,
            "A2": arms[:, 1] + 1,
            "Y": drawn.outcome[unit, arms[:, 0], arms[:, 1]],
        }
    )
    cohort = cohort_of(frame, Synthetic().design)

    session = dtr.Session(Synthetic().design, dtr.DTRBandit(q=5, delta=0.5), prior=cohort)

    expected = dtr.QLearning(Synthetic().design).fit(cohort).coef_["estimate"].tolist()
    assert [c.hat for c in session.coefficients()] == pytest.approx(expected, rel=1e-9)


def test_units_of_a_log_may_teach_however_their_arms_came_about() -> None:
    earlier = some_session()
    for unit in ("u0", "u4"):  # they left early
        earlier.complete(unit, 1.0)
    earlier.withdraw("in flight", reason="the trial ended")
    cohort = dtr.Cohort.from_log(earlier.log)

    session = dtr.Session(DESIGN, dtr.Greedy(), prior=cohort)

    found = [c.hat for c in session.coefficients()]
    assert found == [None if c.hat is None else pytest.approx(c.hat, rel=1e-9) for c in earlier.coefficients()]
    session.enroll("u1", {"start1": 0.5})
    session.withdraw("u1", reason="moved away")
    assert dtr.Cohort.from_log(session.log).units == ("u1",)  # its own unit, and no other


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([dtr.Stage("one", ("ssri", "other"), "1 + start1"), DESIGN.stages[1]], "other stages"),
        ([DESIGN.stages[0], replace(DESIGN.stages[1], arms=("ssri", "none"))], "other arms"),
        ([DESIGN.stages[0], replace(DESIGN.stages[1], features="1 + start1")], "other columns"),
        ([DESIGN.stages[0], replace(DESIGN.stages[1], enter_if="end1 > 6")], "other enter_if"),
        (DESIGN.stages[:1], "other stages"),
    ],
)
def test_a_cohort_of_another_design_is_refused_with_what_differs(stages: list[dtr.Stage], words: str) -> None:
    with pytest.raises(dtr.DesignError, match=f"prior: the earlier trial has {words}"):
        dtr.Session(dtr.Design(stages), dtr.Greedy(), prior=cohort_of(FRAME))


def test_formulas_and_plans_may_differ() -> None:
    stages = [DESIGN.stages[0], replace(DESIGN.stages[1], features="1 + start2 + start1:start2")]

    session = dtr.Session(dtr.Design(stages), dtr.Greedy(), prior=cohort_of(FRAME))

    assert session.summary().taught == 5


def test_arms_that_no_plan_has_now_are_refused_by_row() -> None:
    fewer = dtr.Design(DESIGN.stages, plans=[("ssri", "ssri"), ("other", "other")])

    with pytest.raises(dtr.DesignError, match=r"prior: row 1 had arms that no plan of this design has; leave them out"):
        dtr.Session(fewer, dtr.Greedy(), prior=cohort_of(FRAME))
    cohort = cohort_of(FRAME)
    assert dtr.Session(fewer, dtr.Greedy(), prior=cohort.of(np.arange(1, 5))).summary().taught == 4


def test_weights_are_refused() -> None:
    cohort = cohort_of(FRAME.assign(w=[1, 2, 1, 1, 1]), weights="w")

    with pytest.raises(dtr.DesignError, match="a policy learns from every unit alike"):
        dtr.Session(DESIGN, dtr.Greedy(), prior=cohort)
