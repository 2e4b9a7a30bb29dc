"""Contraindications of a cohort: from columns of a frame, or from a log, and what they change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.policies.policy import feasible_arms

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b", "c"), "1 + z")],
    plans=[tuple(plan) for plan in ("aa", "ab", "ac", "bb", "bc")],
)
EXCLUDE = {"first": {"b": "no_b"}, "second": {"a": "no_second_a", "c": "no_second_c"}}


def frame(n: int = 60) -> pd.DataFrame:
    """Return units that were given, at random, what they could have."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(n):
        no = dict(zip(("no_b", "no_second_a", "no_second_c"), (rng.random(3) < 0.3).astype(int).tolist(), strict=True))
        plans = [
            plan
            for plan in ("aa", "ab", "ac", "bb", "bc")
            if not (no["no_b"] and plan[0] == "b")
            and not (no["no_second_a"] and plan[1] == "a")
            and not (no["no_second_c"] and plan[1] == "c")
        ]
        plan, (x, z, y) = plans[rng.integers(len(plans))], rng.normal(size=3).round(3)
        rows.append({"x": x, "z": z, "A1": plan[0], "A2": plan[1], "Y": y + 2 * z * (plan[1] == "c"), **no})
    return pd.DataFrame(rows)


def cohort(data: pd.DataFrame | None = None, **more: Any) -> Cohort:
    data = frame() if data is None else data
    return Cohort.from_frame(data, DESIGN, arms=["A1", "A2"], outcome="Y", **({"exclude": EXCLUDE} | more))


def test_a_unit_can_have_what_its_columns_leave() -> None:
    data, found = frame(), cohort()

    for i, row in enumerate(data.to_dict("records")):
        second = {"a", "b", "c"} if row["A1"] == "a" else {"b", "c"}
        second -= {arm for arm in "ac" if row[f"no_second_{arm}"]}
        assert {arm for arm, yes in zip("abc", found.feasible[1][i], strict=True) if yes} == second
        assert bool(found.feasible[0][i, 1]) == (not row["no_b"])
        assert found.barred[i] == tuple(
            pair
            for pair, column in (((0, 1), "no_b"), ((1, 0), "no_second_a"), ((1, 2), "no_second_c"))
            if row[column] and not (pair == (1, 0) and row["A1"] == "b")
        )
    assert cohort(exclude=None).excluded is None


def test_q_learning_takes_its_maximum_over_what_a_unit_could_have() -> None:
    fit = dtr.QLearning(DESIGN).fit(cohort())
    data, second = cohort(), fit.coefficients_[1]

    q = np.where(data.feasible[1], data.features[1] @ second.T, -np.inf).max(axis=1)

    for arm in range(2):
        own = data.arms[:, 0] == arm
        expected = np.linalg.lstsq(data.features[0][own], q[own], rcond=None)[0]
        assert fit.coefficients_[0][arm] == pytest.approx(expected)
    assert not np.allclose(fit.coefficients_[0], dtr.QLearning(DESIGN).fit(cohort(exclude=None)).coefficients_[0])


def test_some_units_keep_theirs_and_a_blank_arm_is_the_only_one_left() -> None:
    data = frame()
    only = data.index[(data["A1"] == "b") & (data["no_second_c"] == 1)]
    assert len(only)
    data.loc[only, "A2"] = None

    found = cohort(data)

    assert (found.arms[only, 1] == 1).all()
    some = found.of(np.arange(60) % 2 == 0)
    assert some.excluded is not None
    assert found.excluded is not None
    assert np.array_equal(some.excluded[1], found.excluded[1][::2])


@pytest.mark.parametrize(
    ("exclude", "words"),
    [
        ({"third": {"a": "no_b"}}, r"stage 'third'; the stages are \['first', 'second'\]"),
        ({"first": {"c": "no_b"}}, r"arm 'c' of stage 'first'; its arms are \['a', 'b'\]"),
        ({"first": {"b": "nothing"}}, "lacks"),
        ({"first": ["no_b"]}, "exclude must map stages to arms to columns"),
        ({"first": {"b": 3}}, "called by a text"),
    ],
)
def test_exclusions_that_do_not_fit_are_refused(exclude: Any, words: str) -> None:
    with pytest.raises(dtr.DesignError, match=words):
        cohort(exclude=exclude)


def test_cells_must_say_yes_or_no_and_nobody_has_what_was_contraindicated() -> None:
    data = frame().astype({"no_b": object})
    data.loc[3, "no_b"] = None
    data.loc[5, "no_b"] = 2
    with pytest.raises(dtr.ObservationError, match=r"'no_b' must say by 0 or 1 .*: rows 4, 6"):
        cohort(data)
    data = frame()
    data.loc[7, ["A1", "no_b"]] = ["b", 1]
    with pytest.raises(dtr.ObservationError, match=r"'A1' has an arm that is contraindicated .*: row 8"):
        cohort(data)
    data = frame()
    with pytest.raises(dtr.ObservationError, match="leaves no plan of the design"):
        cohort(data.assign(none=1), exclude={"first": {"a": "none", "b": "none"}})


def test_booleans_are_yes_and_no() -> None:
    found = cohort(frame().astype({"no_b": bool}))

    assert found.excluded is not None
    assert np.array_equal(found.excluded[0], cohort().excluded[0])  # type: ignore[index]


def logged(policy: Any) -> dtr.Session:
    """Return a session that was told what the frame holds, and closes an arm at the end."""
    session = dtr.Session(DESIGN, policy, seed=2)
    for i, row in enumerate(frame().to_dict("records")):
        exclude = {"first": ["b"] * row["no_b"], "second": ["a"] * row["no_second_a"] + ["c"] * row["no_second_c"]}
        more: Any = {"exclude": exclude, "reason": "allergy"} if any(exclude.values()) else {}
        if i == 45:
            session.close_arm("second", "c", reason="harm")
        session.enroll(str(i + 1), {"x": row["x"]}, **more)
        session.respond(str(i + 1), {"z": row["z"]})
        session.complete(str(i + 1), row["Y"])
    return session


def test_a_log_carries_what_units_could_not_have() -> None:
    log = logged(dtr.UniformRandom()).log

    found = Cohort.from_log(log)

    decisions = [event.decision for event in log if isinstance(event, dtr.record.Assigned)]
    for decision in decisions:
        m, i = DESIGN.stage_number(decision.stage), int(decision.unit) - 1
        left = {DESIGN.stages[m].arms[arm] for arm in np.flatnonzero(found.feasible[m][i])}
        assert left == set(decision.contenders)
        assert decision.propensity == pytest.approx(1 / len(left))
    assert found.origin is not None
    assert found.origin.recorded is not None
    assert np.array_equal(found.origin.recorded.feasible[1], found.feasible[1])


@pytest.mark.parametrize("policy", [dtr.UniformRandom(), dtr.Greedy(), dtr.DTRBandit(q=1, delta=0.5)], ids=repr)
def test_a_replay_restricts_the_policy_to_what_each_row_could_have_in_both_players(policy: Any) -> None:
    seen: list[bool] = []

    class Own:
        """The same policy, through Python."""

        def init(self, design: dtr.Design) -> Any:
            return policy.init(design)

        def update(self, state: Any, history: Any, event: Any) -> Any:
            return policy.update(state, history, event)

        def decide(self, state: Any, history: Any, u: float) -> Any:
            choice = policy.decide(state, history, u)
            seen.append(choice.arm in feasible_arms(history))
            return choice

    compiled = dtr.replay(policy, cohort(), horizon=15, paths=2, seed=1)
    through_python = dtr.replay(Own(), cohort(), horizon=15, paths=2, seed=1)

    assert np.array_equal(compiled.rows, through_python.rows)
    assert all(seen)
