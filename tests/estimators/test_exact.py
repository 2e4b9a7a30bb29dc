"""The exact learner against a plain refit, after every event (EXACT_ONLINE_Q: the proof of exactness is a test)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dtrbandit.environments import Synthetic
from dtrbandit.estimators.exact import q_hat
from dtrbandit.estimators.exact_layout import HELD, LEVELS, LIMIT, ROWS
from dtrbandit.kernels.triangular import BETA, FACTOR
from effort import seeded
from estimators.oracle import Both, RandomTrial, bare_design, refit
from plain.least_squares import least_squares

# With columns 1e4 apart the minimum-norm rule itself is good to about 1e-8, in the learner and in the plain refit
# alike (checked against rational arithmetic: 7e-9 and 2e-8).
TOLERANCE = 1e-7


def random_trial(seed: int) -> RandomTrial:
    """Draw one to three stages, with one to four features and one to four arms each."""
    rng = np.random.default_rng([seed, 1])
    features, arms = rng.integers(1, 5, size=(2, rng.integers(1, 4))).tolist()
    return RandomTrial(features, arms, seed)


def all_plans(*arms: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, arms)))


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


def well_behaved(both: Both, unit: int, rng: np.random.Generator) -> None:
    """Take a unit through all stages, with features (1, normal, …) and effects of every arm."""
    node, value = 0, rng.normal()
    for m, d in enumerate(both.design.dimensions):
        psi = np.append(1.0, rng.normal(size=d - 1))
        both.arrive(unit, m, node, psi)
        arm = int(rng.choice(np.flatnonzero(both.design.tree.feasible[node])))
        value += (arm - 1.0) * psi[-1]
        node = both.give(unit, m, arm)
    both.complete(unit, len(both.design.dimensions) - 1, value)


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
        column = getattr(other.state.observed, name)
        column[:200] = 0 if column.dtype.kind == "f" else -1
        column[:150] = getattr(one.state.observed, name)[:150]
    other.beliefs.counted[:] = False
    other.state.observed.units[0] = 150

    one.rebuild()
    other.rebuild()

    assert one.beliefs.pages.tobytes() == other.beliefs.pages.tobytes()
    for unit in range(150, 260):
        for both in (one, other):
            well_behaved(both, unit, np.random.default_rng(unit))
    assert one.beliefs.pages.tobytes() == other.beliefs.pages.tobytes()
    assert one.error() < 1e-9


def test_what_drifts_is_right_again_once_the_units_have_doubled() -> None:
    """Flips add and subtract. Labels and cross moments are made afresh from time to time, so that no error stays."""
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 3]))
    for unit in range(100):
        well_behaved(both, unit, np.random.default_rng(unit))
    cross = both.beliefs.pages[0, :, FACTOR + 2 * 3 :]
    cross += 1e-3 * (cross != 0.0)
    well_behaved(both, 100, np.random.default_rng(100))
    assert both.error() > 1e-6

    for unit in range(101, 250):
        well_behaved(both, unit, np.random.default_rng(unit))

    assert both.error() < 1e-9
    assert both.beliefs.chains[0, LEVELS, HELD] <= both.beliefs.sizes[LIMIT]


def test_a_corrected_outcome_and_a_late_override_count_after_a_rebuild() -> None:
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 3]))
    for unit in range(60):
        well_behaved(both, unit, np.random.default_rng(unit))
    before = both.coefficients()

    observed = both.state.observed
    both.facts[7].outcome = observed.outcome[7] = 9.0
    both.facts[8].arm[0] = observed.arms[8, 0] = 1 - both.facts[8].arm[0]
    both.facts[8].node[1] = observed.nodes[8, 1] = 1 + both.facts[8].arm[0]
    both.rebuild()

    assert both.error() < 1e-9
    assert all(np.abs(mine - old).max() > 1e-3 for mine, old in zip(both.coefficients(), before, strict=True))


def test_rows_wait_for_the_first_q_hat_of_a_feasible_arm() -> None:
    both = Both(bare_design([(0, 0), (1, 1)], [2, 2], [1, 1]))

    def counted() -> list[list[int]]:
        rows: list[list[int]] = both.beliefs.tallies[:, :, ROWS].tolist()
        return rows

    both.arrive(0, 0, 0, [1.0])
    both.arrive(0, 1, both.give(0, 0, 0), [2.0])
    both.give(0, 1, 0)
    assert counted() == [[0, 0], [0, 0]]

    both.arrive(1, 0, 0, [1.0])
    both.arrive(1, 1, both.give(1, 0, 1), [2.0])
    both.give(1, 1, 1)
    both.complete(1, 1, -3.0)  # arm 1, infeasible for unit 0
    assert counted() == [[0, 1], [0, 1]]
    assert both.error() < 1e-12

    both.complete(0, 1, 1.0)
    assert counted() == [[1, 1], [1, 1]]
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
        assert both.beliefs.pages[1, 0, BETA].tobytes() == both.beliefs.pages[1, 1, BETA].tobytes()
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
        runs.append(trial.both.beliefs)

    assert len(runs[0].counted) != len(runs[2].counted)
    for name in ("pages", "tallies", "whitener", "references", "gauges", "chains", "sizes"):
        assert len({getattr(run, name).tobytes() for run in runs}) == 1, name


def test_what_is_believed_can_be_read_with_the_rows_behind_it() -> None:
    trial = RandomTrial([2, 2], [2, 3], 4, decades=1)
    for _ in range(60):
        trial.step()
    state = trial.both.state

    told = state.estimates()

    beta, counts, _, _ = refit(trial.both.design, trial.both.facts)
    for m in range(2):
        assert [len(rows) for rows in told.hat_rows[m]] == counts[m].tolist()
        for arm in range(2):
            own = told.hat[m][arm]
            assert own == pytest.approx(beta[m][arm], abs=1e-7) if counts[m][arm] else np.isnan(own).all()
    assert told.tilde is None


def test_q_hat_is_written_for_the_arms_that_have_one() -> None:
    both = Both(bare_design(all_plans(3), [3], [2]))
    for unit, arm in enumerate((0, 2)):
        both.arrive(unit, 0, 0, [1.0, 2.0])
        both.give(unit, 0, arm)
        both.complete(unit, 0, 10.0 * (arm + 1))
    values = np.full(3, np.nan)

    q_hat(both.state.observed, both.beliefs, 0, np.array([1.0, 2.0]), values)

    assert values == pytest.approx([10.0, np.nan, 30.0], nan_ok=True)
