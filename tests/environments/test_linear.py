"""Linear problems against first principles. Bands are five standard errors, with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.courses import play, potential_courses
from dtrbandit.environments import Linear, OneStage, PotentialOutcomes
from dtrbandit.environments.potential_outcomes import along
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array
from environments.linear_problems import every_problem

UNITS = 100_000
BAND = 5.0


def true_q(units: PotentialOutcomes) -> tuple[Array, ...]:
    assert units.q is not None
    return units.q


def features(units: PotentialOutcomes, m: int, path: tuple[int, ...]) -> Array:
    node = units.design.tree.after(path)
    return potential_courses(units).features[:, node, : units.design.dimensions[m]]


def gaps(q: Array) -> Array:
    ordered = np.sort(q, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


@every_problem
def test_q_functions_are_exactly_linear_at_every_arrival(problem: Linear) -> None:
    units = problem.draw(300, np.random.default_rng(0))
    last = tuple(arms - 1 for arms in units.design.arm_counts)

    for m, q in enumerate(true_q(units)):
        for path in {(0,) * m, last[:m]}:
            psi = features(units, m, path)
            fitted, *_ = np.linalg.lstsq(psi, along(q, path), rcond=None)
            residual = psi @ fitted - along(q, path)

            assert np.abs(residual).max() <= 1e-10
            np.testing.assert_allclose(fitted.T, problem.coefficients[m], atol=1e-10)


@every_problem
def test_backward_induction_by_simulation_gives_the_coefficients(problem: Linear) -> None:
    units = problem.draw(UNITS, np.random.default_rng(1))
    q = true_q(units)

    for m in range(problem.stages):
        follows = q[m + 1].max(axis=-1) if m + 1 < problem.stages else units.outcome
        path = (0,) * m
        fit = np.linalg.pinv(features(units, m, path))
        for arm, expected in enumerate(problem.coefficients[m]):
            target = along(follows, (*path, arm))
            found, error = fit @ target, target - along(q[m], (*path, arm))

            assert (np.abs(found - expected) <= BAND * np.sqrt(fit**2 @ error**2)).all()


@every_problem
def test_the_oracle_earns_the_optimal_value(problem: Linear) -> None:
    units = problem.draw(UNITS, np.random.default_rng(2))
    rows = np.arange(UNITS)

    arms: tuple[NDArray[np.int64], ...] = ()
    for q in true_q(units):
        arms = (*arms, np.argmax(q[(rows, *arms)], axis=1))
    earned = units.outcome[(rows, *arms)]

    assert abs(earned.mean() - problem.optimal_value) <= BAND * earned.std() / np.sqrt(UNITS)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("arms", [2, 4])
def test_gaps_follow_the_power_law_at_every_stage_after_every_history(alpha: float, arms: int) -> None:
    units = Linear(arms=arms, dimension=3, margin=alpha).draw(UNITS, np.random.default_rng(3))

    for q in true_q(units):
        gap = gaps(q).reshape(UNITS, -1)
        for kappa in (0.05, 0.1, 0.2, 0.4, 0.8):
            expected = kappa**alpha
            band = BAND * np.sqrt(expected * (1 - expected) / UNITS)
            assert (np.abs((gap <= kappa).mean(axis=0) - expected) <= band).all()
        assert gap.max() <= 1 + 1e-12


def test_margins_may_differ_between_stages() -> None:
    units = Linear(margin=(0.5, 2.0)).draw(UNITS, np.random.default_rng(4))

    first, second = (gaps(q) for q in true_q(units))

    assert (first <= 0.25).mean() == pytest.approx(0.5, abs=0.01)
    assert (second <= 0.25).mean() == pytest.approx(0.0625, abs=0.005)


def test_no_pair_of_competitive_arms_comes_closer_more_often_than_the_margin_allows() -> None:
    alpha = 2.0
    units = Linear(arms=5, margin=alpha).draw(UNITS, np.random.default_rng(5))

    for q in true_q(units):
        for i in range(5):
            for j in range(i):
                close = (np.abs(q[..., i] - q[..., j]) <= 0.1).reshape(UNITS, -1).mean(axis=0)
                assert (close <= 0.1**alpha + BAND * 0.1 / np.sqrt(UNITS)).all()


@pytest.mark.parametrize("suboptimal", [0, 1, 3])
def test_suboptimal_arms_are_never_best_and_all_others_are_sometimes(suboptimal: int) -> None:
    units = Linear(stages=3, arms=4, suboptimal=suboptimal, seed=7).draw(20_000, np.random.default_rng(6))

    for q in true_q(units):
        behind = q.max(axis=-1, keepdims=True) - q
        best = np.argmax(q, axis=-1).reshape(-1)
        shares = np.bincount(best, minlength=4) / len(best)
        never = shares == 0

        assert never.sum() == suboptimal
        assert (shares[~never] > 0.05).all()
        assert behind[..., never].min(initial=np.inf) >= 1 - 1e-9


@every_problem
def test_features_are_diverse_where_each_competitive_arm_is_best(problem: Linear) -> None:
    units = problem.draw(20_000, np.random.default_rng(7))
    q = true_q(units)

    for m, suboptimal in enumerate(np.broadcast_to(problem.suboptimal, problem.stages)):
        path = (0,) * m
        psi, best = features(units, m, path), np.argmax(along(q[m], path), axis=1)
        smallest = [np.linalg.eigvalsh(psi[best == arm].T @ psi[best == arm] / len(psi))[0] for arm in np.unique(best)]

        assert len(smallest) == units.design.arm_counts[m] - suboptimal
        assert min(smallest) > 1e-4


@every_problem
def test_features_are_no_longer_than_the_root_of_their_number(problem: Linear) -> None:
    units = problem.draw(5_000, np.random.default_rng(8))

    for m, d in enumerate(units.design.dimensions):
        assert np.linalg.norm(features(units, m, (0,) * m), axis=1).max() <= np.sqrt(d) + 1e-12


def test_the_problem_is_a_function_of_its_parameters() -> None:
    one, same, other = Linear(dimension=4, seed=1), Linear(dimension=4, seed=1), Linear(dimension=4, seed=2)

    assert one == same
    assert all(np.array_equal(a, b) for a, b in zip(one.coefficients, same.coefficients, strict=True))
    assert not np.allclose(one.coefficients[0], other.coefficients[0])


def test_noise_is_normal_with_the_given_deviation() -> None:
    units = Linear(noise=3.0).draw(UNITS, np.random.default_rng(9))

    noise = (units.outcome - true_q(units)[-1])[:, 0, 1] / 3

    for power, moment in ((1, 0.0), (2, 1.0), (4, 3.0)):
        assert abs((noise**power).mean() - moment) <= BAND * (noise**power).std() / np.sqrt(UNITS)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"stages": 0}, "stages must be a whole number from 1 to 20, found 0"),
        ({"arms": (2, 2, 2)}, "arms must be one value or 2, found 3"),
        ({"arms": 2.5}, "arms must be a whole number"),
        ({"arms": (2, 0)}, r"arms\[1\] must be a whole number from 1 to 64, found 0"),
        ({"dimension": 1}, "dimension must be a whole number from 2"),
        ({"margin": 0}, "margin must be a finite number above 0, found 0"),
        ({"margin": (1.0, float("nan"))}, r"margin\[1\]"),
        ({"suboptimal": 2}, "stage 1 has 2 arms, so at most 1 suboptimal ones, found 2"),
        ({"suboptimal": True}, "suboptimal must be a whole number"),
        ({"noise": -1}, "noise must be a finite number of at least 0, found -1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"stages": 3, "arms": 30}, "more than 10000 plans"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        Linear(**parameters)


def test_a_negative_number_of_units_is_refused() -> None:
    with pytest.raises(DesignError, match="n must be a whole number of at least 0, found -1"):
        Linear().draw(-1, np.random.default_rng(0))


# -- the embedding of one-stage problems ---------------------------------------------------------------------------


def test_the_second_context_is_the_one_stage_outcome_and_so_is_the_outcome() -> None:
    embedded = OneStage(arms=3, dimension=4, margin=0.5, suboptimal=1, noise=2.0, seed=5, second_arms=2)
    alone = Linear(stages=1, arms=3, dimension=4, margin=0.5, suboptimal=1, noise=2.0, seed=5)

    units, one = (each.draw(50, np.random.default_rng(0)) for each in (embedded, alone))

    assert units.contexts[0].keys() == one.contexts[0].keys()
    assert all(np.array_equal(units.contexts[0][name], one.contexts[0][name]) for name in one.contexts[0])
    np.testing.assert_array_equal(units.contexts[1]["x2"], one.outcome)
    np.testing.assert_array_equal(units.outcome, np.stack([one.outcome, one.outcome], axis=2))
    assert embedded.optimal_value == alone.optimal_value


@pytest.mark.parametrize("second_arms", [1, 2])
def test_regret_is_exactly_the_one_stage_regret(second_arms: int) -> None:
    units = OneStage(second_arms=second_arms).draw(500, np.random.default_rng(1))
    arms = play(dtr.DTRBandit(q=2, delta=1.0), potential_courses(units), units.design).arms
    rows = np.arange(500)
    assert units.q is not None
    first, second = units.q

    by_stage = [
        first.max(axis=1) - first[rows, arms[:, 0]],
        second[rows, arms[:, 0]].max(axis=1) - second[rows, arms[:, 0], arms[:, 1]],
    ]

    assert by_stage[0].sum() > 0
    assert (by_stage[1] == 0).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"second_arms": 0}, "second_arms must be a whole number from 1"), ({"margin": -1}, "margin must be")],
)
def test_impossible_parameters_of_the_embedding_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        OneStage(**parameters)
