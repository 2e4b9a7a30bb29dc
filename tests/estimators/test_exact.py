"""The exact learner against a plain refit, after every event (EXACT_ONLINE_Q: the proof of exactness is a test)."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import Synthetic
from dtrbandit.estimators.exact import ExactLearner
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Array
from effort import seeded
from estimators import oracle
from estimators.few_units import observed_units, small_design
from estimators.oracle import Both, RandomTrial, all_plans, bare_design, refit, well_behaved
from plain.least_squares import least_squares

# With columns 1e4 apart the minimum-norm rule itself is good to about 1e-8, in the learner and in the plain refit
# alike (checked against rational arithmetic: 7e-9 and 2e-8).
TOLERANCE = 1e-7


def random_trial(seed: int) -> RandomTrial:
    """Draw one to three stages, with one to four features and one to four arms each."""
    rng = np.random.default_rng([seed, 1])
    features, arms = rng.integers(1, 5, size=(2, rng.integers(1, 4))).tolist()
    return RandomTrial(features, arms, seed)


@seeded(120)
def test_coefficients_equal_a_plain_refit_after_every_event(seed: int) -> None:
    trial = random_trial(seed)

    for _ in range(100):
        trial.step()

        assert trial.both.error() < TOLERANCE


@seeded(16)
def test_a_rebuild_gives_the_same_coefficients_and_learning_goes_on(seed: int) -> None:
    trial = random_trial(seed)
    for _ in range(100):
        trial.step()

    trial.both.rebuild()

    assert trial.both.error() < TOLERANCE
    for _ in range(30):
        trial.step()
    assert trial.both.error() < TOLERANCE


def test_a_rebuild_equals_a_fresh_fold() -> None:
    trial = RandomTrial([2, 3, 2], [2, 3, 2], 11, decades=1)
    for _ in range(1200):
        trial.step()
    folded = trial.both.coefficients()

    trial.both.rebuild()

    for mine, before in zip(trial.both.coefficients(), folded, strict=True):
        np.testing.assert_allclose(mine, before, rtol=1e-9, atol=1e-9)


def test_a_rebuild_is_a_function_of_what_was_observed_alone() -> None:
    """Two learners see the same units in another order, and one of them other outcomes first."""
    design = bare_design(all_plans(2, 3, 2), [2, 3, 2], [2, 3, 2])
    one, other = Both(design), Both(design, capacity=1024)
    for unit in range(150):
        well_behaved(one, unit, np.random.default_rng(unit))
    for unit in reversed(range(150)):
        well_behaved(other, unit, np.random.default_rng(unit + (7 if unit % 2 else 0)))
    for unit in range(150, 200):  # wanders off, and is then written over: nothing of it may stay
        well_behaved(other, unit, np.random.default_rng(5))
    for name in ("features", "nodes", "arms", "left", "last", "outcome"):
        column = other.observed.arrays()[name]
        column[:200] = 0 if column.dtype.kind == "f" else -1
        column[:150] = one.observed.arrays()[name][:150]
    other.observed.units = 150

    one.rebuild()
    other.rebuild()

    assert one.bits() == other.bits()
    for unit in range(150, 260):
        for both in (one, other):
            well_behaved(both, unit, np.random.default_rng(unit))
    assert one.bits() == other.bits()
    assert one.error() < 1e-9


def test_what_drifts_is_right_again_once_the_units_have_doubled() -> None:
    """Flips add and subtract. Labels and cross moments are made afresh from time to time, so that no error stays."""
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 3]))
    for unit in range(100):
        well_behaved(both, unit, np.random.default_rng(unit))
    cross = np.asarray(both.learner.cross)
    cross += 1e-3 * (cross != 0.0)
    well_behaved(both, 100, np.random.default_rng(100))
    assert both.error() > 1e-6

    for unit in range(101, 250):
        well_behaved(both, unit, np.random.default_rng(unit))

    assert both.error() < 1e-9
    assert both.learner.held[0] <= both.learner.limit[0]


def test_a_corrected_outcome_and_a_late_override_count_after_a_rebuild() -> None:
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 3]))
    for unit in range(60):
        well_behaved(both, unit, np.random.default_rng(unit))
    before = both.coefficients()

    observed = both.observed
    both.facts[7].outcome = observed.outcome[7] = 9.0
    both.facts[8].arm[0] = observed.arms[8, 0] = 1 - both.facts[8].arm[0]
    both.facts[8].node[1] = observed.nodes[8, 1] = 1 + both.facts[8].arm[0]
    both.rebuild()

    assert both.error() < 1e-9
    assert all(np.abs(mine - old).max() > 1e-3 for mine, old in zip(both.coefficients(), before, strict=True))


def test_rows_wait_for_the_first_q_hat_of_a_feasible_arm() -> None:
    both = Both(bare_design([(0, 0), (1, 1)], [2, 2], [1, 1]))

    both.arrive(0, 0, 0, [1.0])
    both.arrive(0, 1, both.give(0, 0, 0), [2.0])
    both.give(0, 1, 0)
    assert both.rows() == [[0, 0], [0, 0]]

    both.arrive(1, 0, 0, [1.0])
    both.arrive(1, 1, both.give(1, 0, 1), [2.0])
    both.give(1, 1, 1)
    both.complete(1, 1, -3.0)  # arm 1, infeasible for unit 0
    assert both.rows() == [[0, 1], [0, 1]]
    assert both.error() < 1e-12

    both.complete(0, 1, 1.0)
    assert both.rows() == [[1, 1], [1, 1]]
    assert both.error() < 1e-12


def test_ties_by_construction_leave_the_coefficients_exact() -> None:
    """Every unit comes twice, once on each arm, with the same outcome: the arms of stage 2 never differ."""
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 2]))
    rng = np.random.default_rng(2)
    for pair in range(100):
        first, second, outcome = [1.0, rng.normal()], [1.0, rng.normal()], rng.normal()
        for arm in (0, 1):
            unit = 2 * pair + arm
            both.arrive(unit, 0, 0, first)
            both.arrive(unit, 1, both.give(unit, 0, pair % 2), second)
            both.give(unit, 1, arm)
            both.complete(unit, 1, outcome)
        one, other = both.coefficients()[1]
        assert one.tobytes() == other.tobytes()
        assert both.error() < 1e-9


@pytest.mark.parametrize("effect", [True, False], ids=["an effect", "no effect at stage 2"])
def test_a_long_run_agrees_with_a_vectorised_refit_at_random_times(effect: bool) -> None:
    n, rng = 4_000, np.random.default_rng(7)
    units = Synthetic().draw(n, rng)
    x1, x2, arms = units.contexts[0]["x1"], units.contexts[1]["x2"], rng.integers(0, 2, (n, 2))
    lines, first, second = np.arange(n), arms[:, 0], arms[:, 1]
    psi1 = np.stack([np.ones(n), x1], axis=1)
    psi2 = np.stack([np.ones(n), x2[lines, first]], axis=1)
    outcome = units.outcome[lines, first, second if effect else 0]
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 2]))
    times = set(np.geomspace(5, n - 1, 40).astype(int).tolist())

    for i in range(n):
        both.arrive(i, 0, 0, psi1[i])
        both.arrive(i, 1, both.give(i, 0, int(first[i])), psi2[i])
        both.give(i, 1, int(second[i]))
        both.complete(i, 1, outcome[i])
        if i in times:
            past = lines <= i
            beta2 = [least_squares(psi2[own], outcome[own])[0] for k in (0, 1) if (own := past & (second == k)).any()]
            best = np.maximum(psi2 @ beta2[0], psi2 @ beta2[1])
            beta1 = [least_squares(psi1[own], best[own])[0] for k in (0, 1) if (own := past & (first == k)).any()]
            np.testing.assert_allclose(both.coefficients(), [beta1, beta2], atol=1e-9)


def test_the_same_events_give_the_same_bits_twice_and_whether_or_not_the_arrays_grew() -> None:
    runs = []
    for capacity in (0, 0, 4096):
        trial = RandomTrial([2, 3, 2], [2, 3, 2], 11, capacity=capacity)
        for _ in range(1500):
            trial.step()
        runs.append(trial.both)

    assert len({len(both.learner.counted) for both in runs}) == 2
    assert runs[0].bits() == runs[1].bits() == runs[2].bits()


def test_what_is_believed_can_be_read_with_a_factor_of_the_rows_behind_it() -> None:
    trial = RandomTrial([2, 2], [2, 3], 4, decades=1)
    for _ in range(60):
        trial.step()
    state = trial.both.state

    told = state.estimates()

    beta, counts, _, _ = refit(trial.both.design, trial.both.facts)
    for m in range(2):
        for arm in range(2):
            own, factor, d = told.hat[m][arm], told.hat_factors[m][arm], trial.both.design.dimensions[m]
            assert own == pytest.approx(beta[m][arm], abs=1e-7) if counts[m][arm] else np.isnan(own).all()
            mine = [trial.both.facts[unit] for unit in sorted(trial.both.facts)]
            mine = [fact for fact in mine if fact.arm.get(m) == arm]
            known = [np.isfinite(oracle.target(trial.both.design, fact, m, beta, counts)) for fact in mine]
            rows = np.array([fact.psi[m] for fact in mine]).reshape(-1, d)[known]
            assert len(rows) == counts[m][arm]
            np.testing.assert_allclose(factor.T @ factor, rows.T @ rows, atol=1e-9 * (1 + np.abs(rows).max() ** 2))
    assert told.tilde is None


def test_q_hat_is_the_value_at_the_features_at_hand_of_an_arm_that_has_one() -> None:
    both = Both(bare_design(all_plans(3), [3], [2]))
    for unit, arm in enumerate((0, 2)):
        both.arrive(unit, 0, 0, [1.0, 2.0])
        both.give(unit, 0, arm)
        both.complete(unit, 0, 10.0 * (arm + 1))
    both.observed.psi[:] = np.array([1.0, 2.0])

    values = [both.learner.q_hat(0, arm) for arm in range(3)]

    assert values == pytest.approx([10.0, np.nan, 30.0], nan_ok=True)


# -- how an arm is solved: by the cheapest way that is exact enough ------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_an_ill_conditioned_arm_is_fitted_from_its_rows(seed: int) -> None:
    """Columns at 3e4 ± 2 beside a constant: scaled condition 1e5, where normal equations would be good to 1e-6 at best.

    Compared once all arms have full rank: before, the shortest solution itself is that sensitive to the last bit.
    """
    trial = RandomTrial([2, 2], [2, 3], seed, far=3e4, decades=1)
    compared, ill = 0, 0
    for _ in range(250):
        trial.step()

        error = trial.both.error_of_determined()
        assert error is None or error < 1e-7
        compared += error is not None
        ill += c.ILL in np.asarray(trial.both.learner.mode)[0]

    assert min(compared, ill) > 100


def solved(rows: Array, targets: Array, stages: int) -> Both:
    """Return a learner of the first stage's only arm, whose targets are outcomes."""
    both = Both(bare_design([(0,) * stages], [1] * stages, [rows.shape[1]] + [1] * (stages - 1)))
    for unit, (row, target) in enumerate(zip(rows, targets, strict=True)):
        both.arrive(unit, 0, 0, row)
        both.give(unit, 0, 0)
        both.complete(unit, 0, target)
    return both


ROUND = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
FLAT = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
STEEP = np.array([[1.0, 3e4], [1.0, 3e4 + 1], [1.0, 3e4 - 1]])


@pytest.mark.parametrize(
    ("rows", "stages", "mode"),
    [
        (ROUND, 1, c.FULL),
        (ROUND, 2, c.FULL),
        (FLAT, 1, c.SHORT),
        (FLAT, 2, c.SHORT),
        (STEEP, 1, c.FULL),
        (STEEP, 2, c.ILL),
    ],
    ids=["last", "earlier", "last, lacking rank", "lacking rank", "last, ill-conditioned", "ill-conditioned"],
)
def test_an_arm_is_solved_as_its_rows_allow(rows: Array, stages: int, mode: int) -> None:
    targets = np.array([1.0, 2.0, 4.0])

    both = solved(rows, targets, stages)

    assert both.learner.mode[0, 0] == mode
    assert both.coefficients()[0][0] == pytest.approx(least_squares(rows, targets).coefficients, rel=1e-6)


def test_coefficients_solve_the_normal_equations_of_the_cross_moments() -> None:
    """RᵀR β = Σ_k X[a, k] β_k + Σ_fixed ψ y at a stage before the last, (d₀,)."""
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 3]))
    for unit in range(60):
        well_behaved(both, unit, np.random.default_rng(unit))
    for unit in range(60, 70):  # leave after the first stage
        both.arrive(unit, 0, 0, [1.0, unit / 60])
        both.give(unit, 0, unit % 2)
        both.complete(unit, 0, unit / 10)

    learner, (_, later) = both.learner, both.coefficients()

    for arm in range(2):
        p = learner.problem[0, arm]
        factor, moment = np.asarray(learner.fits.factor)[p, :2, :2], np.asarray(learner.moment)[p, :2]
        sums = [np.asarray(learner.cross)[p, k, :, :2].T @ later[k] for k in range(2)]
        left = [unit for unit in range(60, 70) if unit % 2 == arm]
        fixed = sum(np.array([1.0, unit / 60]) * unit / 10 for unit in left)
        assert moment == pytest.approx(fixed)
        assert factor.T @ factor @ both.coefficients()[0][arm] == pytest.approx(moment + sum(sums))


def test_the_target_of_an_ill_conditioned_row_is_its_outcome_or_the_best_that_may_follow() -> None:
    """After arm 0 both arms may follow, after arm 1 only arm 1; every third unit leaves and brings its outcome."""
    both, rng = Both(small_design((2, 2))), np.random.default_rng(4)
    for unit in range(60):
        both.arrive(unit, 0, 0, [1.0, 3e4 + rng.integers(-2, 3)])
        node = both.give(unit, 0, arm := unit % 2)
        if unit % 3:
            both.arrive(unit, 1, node, [1.0, rng.normal()])
            both.give(unit, 1, 1 if arm else int(rng.integers(2)))
        both.complete(unit, 1 if unit % 3 else 0, rng.normal())

    assert np.asarray(both.learner.mode)[0].tolist() == [c.ILL, c.ILL]
    error = both.error_of_determined()
    assert error is not None
    assert error < 1e-9


# -- arrays --------------------------------------------------------------------------------------------------


def test_each_quantity_has_an_array_for_each_arm() -> None:
    arrays = ExactLearner(observed_units(small_design(), 0)).arrays()

    assert arrays["rows"].shape == arrays["mode"].shape == (2, 2)  # (M, K)
    assert arrays["fits.beta"].shape == arrays["moment"].shape == arrays["white"].shape == (4, 3)  # (M·K, D)
    assert arrays["fits.factor"].shape == arrays["fits.operator"].shape == (4, 3, 3)
    assert arrays["cross"].shape == (4, 2, 3, 3)
    assert arrays["whitener"].shape == (1, 3, 3)
    assert arrays["counted"].shape == (0, 2)


def test_room_for_more_units_keeps_what_is_there() -> None:
    trial = RandomTrial([2, 2], [2, 3], 4, decades=1)
    for _ in range(200):
        trial.step()
    learner = trial.both.learner
    before = {name: array.copy() for name, array in learner.arrays().items()}

    learner.reserve(1000)

    for name, array in learner.arrays().items():
        old = before[name]
        front = tuple(slice(size) for size in old.shape)
        assert (array.dtype, np.array_equal(array[front], old)) == (old.dtype, True), name
        assert np.count_nonzero(array) == np.count_nonzero(old)  # the rest is blank
    assert len(learner.counted) == 1000


def test_a_copy_goes_on_as_the_original_and_shares_nothing_with_it() -> None:
    seen = observed_units(small_design(), 60, leave=5)
    original, copy = ExactLearner(seen), ExactLearner(seen)
    original.reserve(60)
    learn(original, range(40))
    after_40 = {name: array.tobytes() for name, array in original.arrays().items()}

    copy.load(original.arrays())
    learn(copy, range(40, 60))

    assert {name: array.tobytes() for name, array in original.arrays().items()} == after_40
    learn(original, range(40, 60))
    for name, array in original.arrays().items():
        assert copy.arrays()[name].tobytes() == array.tobytes(), name


def learn(learner: ExactLearner, units: range) -> None:
    """Let facts be learnt unit by unit: that it came to the second stage, then the outcome."""
    for unit in units:
        if learner.observed.nodes[unit, 1] >= 0:
            learner.learn(c.ARRIVED, unit, 1)
        learner.learn(c.COMPLETED, unit, learner.observed.last[unit])
