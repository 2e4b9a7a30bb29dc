"""LSVI-UCB's options: rare switching, bounds, clipping, leavers, and the theory's β."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.environments import STARD, Synthetic
from dtrbandit.evaluation import Cohort
from dtrbandit.policies import UnscaledOutcomes

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def synthetic_path(policy: dtr.LSVIUCB, rounds: int, times: float = 1.0) -> list[tuple[str, str]]:
    units = Synthetic().draw(rounds, np.random.default_rng(3))
    session = dtr.Session(Synthetic().design, policy)
    arms = []
    for i in range(rounds):
        first = session.enroll(f"u{i}", {"x1": units.contexts[0]["x1"][i]}).arm
        second = session.respond(f"u{i}", {"x2": units.contexts[1]["x2"][i, int(first) - 1]})
        assert second is not None
        session.complete(f"u{i}", times * units.outcome[i, int(first) - 1, int(second.arm) - 1])
        arms.append((first, second.arm))
    return arms


def test_rare_switching_is_not_the_papers_algorithm_but_close_to_it() -> None:
    every = synthetic_path(dtr.LSVIUCB(beta=4.0), 150)
    rare = synthetic_path(dtr.LSVIUCB(beta=4.0, switching="rare"), 150)

    assert every != rare
    assert np.mean([a == b for a, b in zip(every, rare, strict=True)]) > 0.5


def test_dividing_features_by_one_bound_equals_a_smaller_ridge_and_bonus() -> None:
    """φ/c with ridge λ and β gives the w, Λ of φ with ridge c²λ; the bonus is then β·c⁰: ‖φ/c‖_{Λ/c²} = ‖φ‖_Λ."""
    divided = synthetic_path(dtr.LSVIUCB(beta=4.0, ridge=1.0, bound=(2.0, 2.0)), 80)
    plain = synthetic_path(dtr.LSVIUCB(beta=4.0, ridge=4.0), 80)

    assert divided == plain


@pytest.mark.parametrize("options", [{}, {"clip": 2.0}, {"switching": "rare"}], ids=["every", "clip", "rare"])
@pytest.mark.parametrize("scale", [13.0, 16.0, 0.25])
def test_a_scale_gives_the_arms_of_outcomes_that_were_scaled_by_hand(scale: float, options: dict[str, Any]) -> None:
    by_hand = synthetic_path(dtr.LSVIUCB(beta=4.0, **options), 120)
    limit = {"clip": options["clip"] * scale} if "clip" in options else {}

    scaled = synthetic_path(dtr.LSVIUCB(beta=4.0, scale=scale, **{**options, **limit}), 120, times=scale)
    unscaled = synthetic_path(dtr.LSVIUCB(beta=4.0, **{**options, **limit}), 120, times=scale)

    assert scaled == by_hand
    assert unscaled != by_hand


def test_estimates_stay_in_the_outcomes_own_units_and_the_bonus_grows_with_the_scale() -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a",), "1")]), dtr.LSVIUCB(beta=2.0, scale=10.0))
    session.enroll("u1", {})
    session.complete("u1", 30.0)

    assert [c.hat for c in session.coefficients()] == [pytest.approx(15.0)]  # one row, ridge 1
    assert session.enroll("u2", {}).q_hat == {"a": pytest.approx(15 + 2 * 10 / np.sqrt(2))}


def test_a_scale_of_one_changes_no_bit() -> None:
    outright = dtr.LSVIUCB(beta=13.021, bound=(2.0, 3.0), clip=7.0)
    scaled = replace(outright, scale=1.0)
    exact = dtr.LSVIUCB(beta=13.021 / 4, bound=(2.0, 3.0), clip=7.0, scale=4.0)  # powers of two round nothing

    assert parameters(scaled) == parameters(exact) == parameters(outright)


def parameters(policy: dtr.LSVIUCB) -> tuple[float | bytes, ...]:
    """Return what the learner of the synthetic problem is told, bit for bit."""
    learner = policy.init(Synthetic().design).learner
    arrays = (np.asarray(array).tobytes() for array in (learner.clip, learner.divisors))
    return learner.bonus, learner.fits.penalty, learner.leavers_observed, learner.rare, *arrays


@pytest.mark.parametrize(("scale", "warns"), [(1.0, True), (13.0, False)])
def test_a_study_and_a_replay_warn_of_outcomes_that_plainly_exceed_the_scale(scale: float, warns: bool) -> None:
    policy, cohort = dtr.LSVIUCB(scale=scale), Cohort.from_frame(
        pd.DataFrame(STARD().logged(800, np.random.default_rng(0))), STARD().design, arms=["A1", "A2"], outcome="Y"
    ).with_propensities(dtr.PropensityModel(penalty=1.0))  # fmt: skip

    with warnings.catch_warnings(record=True, action="always") as found:
        dtr.simulate(STARD(), {"LSVI-UCB": policy}, horizon=30, paths=1)
        dtr.replay(policy, cohort, horizon=30, paths=1)

    about = [str(each.message) for each in found if each.category is UnscaledOutcomes]
    assert len(about) == 2 * warns
    assert all("scale=1 is for outcomes of 2 at the most" in text for text in about)


def test_outcomes_of_the_synthetic_problem_do_not_plainly_exceed_a_scale_of_one() -> None:
    dtr.simulate(Synthetic(), {"LSVI-UCB": dtr.LSVIUCB()}, horizon=50, paths=2)  # a warning would be an error


def test_clipping_limits_what_is_compared_and_what_earlier_stages_learn_from() -> None:
    session = dtr.Session(DESIGN, dtr.LSVIUCB(beta=2.0, clip=(5.0, 0.5)))

    first = session.enroll("u1", {"x": 3.0})
    second = session.respond("u1", {"z": 1.0, "r": 1.0})

    assert second is not None
    assert first.q_hat == {"a": 5.0, "b": 5.0}  # else 2·√(1 + 9)
    assert second.q_hat == {"a": 0.5, "b": 0.5}  # else 2·√2
    weights = [c.hat for c in session.coefficients() if (c.stage, c.arm) == ("first", first.arm)]
    assert weights == pytest.approx(0.5 * np.array([1.0, 3.0]) / (1 + 10))  # one row (1, 3), target 0.5, ridge 1


def test_a_leaver_can_have_the_optimistic_value_of_the_stage_it_did_not_enter() -> None:
    def weights(leavers: str, context: dict[str, float]) -> float:
        session = dtr.Session(DESIGN, dtr.LSVIUCB(beta=2.0, leavers=leavers))  # type: ignore[arg-type]
        session.enroll("u1", {"x": 0.0})
        session.respond("u1", context)
        session.complete("u1", 3.0)
        return float(session.coefficients()[0].hat or 0)

    whole = {"r": -1.0, "z": 2.0}

    assert weights("observed", whole) == pytest.approx(3.0 / 2)  # one row (1, 0), ridge 1
    assert weights("optimistic", whole) == pytest.approx(2.0 * np.sqrt(1 + 4) / 2)  # β‖(1, z)‖/√λ, no row at stage 2
    assert weights("optimistic", {"r": -1.0}) == pytest.approx(3.0 / 2)  # its context carries no features


def test_the_suggested_beta_is_the_published_one_on_the_synthetic_problem() -> None:
    assert dtr.suggested_beta(Synthetic().design, rounds=10_000) == pytest.approx(4 * np.sqrt(np.log(4 * 10_000)))


@pytest.mark.parametrize("ridge", [1.0, 2.0, 3.0, 7.0])
def test_rare_switching_refits_when_a_determinant_has_doubled_exactly(ridge: float) -> None:
    """With the feature 1 alone, det Λ is λ + n: it doubles at n = λ, whatever √λ is rounded to."""
    design = dtr.Design([dtr.Stage("only", ("a",), "1")])
    session = dtr.Session(design, dtr.LSVIUCB(beta=1.0, ridge=ridge, switching="rare"))
    for unit in range(int(ridge)):
        session.enroll(f"u{unit}", {})
        session.complete(f"u{unit}", 1.0)

        refitted = unit + 1 == ridge
        assert session.q_hat("only", {})["a"] == pytest.approx(0.5 if refitted else 0.0)
