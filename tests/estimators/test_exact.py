"""The exact learner against a plain refit, after every event (EXACT_ONLINE_Q: the proof of exactness is a test)."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dtrbandit.environments import Synthetic
from dtrbandit.estimators.exact_layout import BLOCK, HELD, ILL, LABEL, LEVELS, LIMIT, MODE, ROWS, UNIT, Beliefs
from dtrbandit.kernels.triangular import BETA, FACTOR
from estimators.oracle import Both, RandomTrial, bare_design
from plain.least_squares import least_squares

# With columns 1e4 apart the minimum-norm rule itself is good to about 1e-8, in the learner and in the plain refit
# alike (checked against rational arithmetic: 7e-9 and 2e-8).
TOLERANCE = 1e-7

designs = st.integers(1, 3).flatmap(
    lambda stages: st.tuples(
        st.lists(st.integers(1, 4), min_size=stages, max_size=stages),
        st.lists(st.integers(1, 4), min_size=stages, max_size=stages),
    )
)
seeds = st.integers(0, 2**32 - 1)


def some_examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


def all_plans(*arms: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, arms)))


@given(designs, seeds)
@some_examples(120)
def test_coefficients_equal_a_plain_refit_after_every_event(design: tuple[list[int], list[int]], seed: int) -> None:
    trial = RandomTrial(*design, seed)

    for _ in range(100):
        trial.step()

        assert trial.both.error() < TOLERANCE


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
        ill += bool((trial.both.beliefs.tallies[0, :, MODE] == ILL).any())

    assert min(compared, ill) > 100


@given(designs, seeds)
@some_examples(15)
def test_a_rebuild_gives_the_same_coefficients_and_learning_goes_on(
    design: tuple[list[int], list[int]], seed: int
) -> None:
    trial = RandomTrial(*design, seed)
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


def labels(beliefs: Beliefs, m: int) -> dict[int, int]:
    """Return the label of each unit that is in a level of link ``m``."""
    found = {}
    for level in range(LEVELS):
        block, _, left = beliefs.chains[m, level, :3].tolist()
        while left > 0:
            for slot in range(block * BLOCK, block * BLOCK + min(left, BLOCK)):
                found[int(beliefs.tags[m, slot, UNIT])] = int(beliefs.tags[m, slot, LABEL])
            block, left = int(beliefs.follows[m, block]), left - BLOCK
    return found


def test_a_unit_is_placed_by_its_current_lead_not_by_the_lead_at_the_reference() -> None:
    """The careless placement of EXACT_ONLINE_Q: coefficients go from +5 to -5, a unit enters, and they come back."""
    both = Both(bare_design(all_plans(1, 2), [1, 2], [1, 1]))

    def enrol(unit: int, arm: int | None = None, outcome: float = 0.0) -> None:
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), [1.0])
        both.give(unit, 1, arm or 0)
        if arm is not None:  # else its outcome never comes
            both.complete(unit, 1, outcome)

    enrol(0, 0, 5.0)
    enrol(1, 1, 0.0)
    for turn, mean in enumerate((5.0, -5.0, 5.0, -5.0, 5.0)):
        rows = both.beliefs.tallies[1, 0, ROWS]
        total = both.beliefs.pages[1, 0, BETA, 0] * rows
        enrol(2 + 2 * turn, 0, mean * (rows + 1) - total)  # arm 0's coefficient is now ``mean``
        enrol(3 + 2 * turn)

        assert both.beliefs.pages[1, 0, BETA, 0] == pytest.approx(mean)
        assert set(labels(both.beliefs, 0).values()) == {0 if mean > 0 else 1}
        assert both.error() < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_labels_are_right_while_coefficients_wander_to_and_fro(seed: int) -> None:
    """Units wait in all directions while arm 0's coefficients move about their start, as far as the levels are wide.

    A unit that enters a level when the coefficients are far from its reference can flip before the level expires,
    unless the level takes only units whose lead exceeds the radius by as much.
    """
    rng = np.random.default_rng(seed)
    both, units = Both(bare_design(all_plans(1, 2), [1, 2], [1, 2])), iter(range(1000))
    place = np.array([2.0, 0.0])

    def enrol(psi: Any, arm: int | None = None, outcome: float = 0.0) -> None:
        unit = next(units)
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), psi)
        both.give(unit, 1, arm or 0)
        if arm is not None:  # else its outcome never comes
            both.complete(unit, 1, outcome)

    for arm, j in product((0, 1), (0, 1)):
        enrol(np.eye(2)[j], arm, place[j] if arm == 0 else 0.0)
    for _ in range(120):
        enrol(rng.normal(size=2))
        j, moved = int(rng.integers(2)), rng.normal(scale=0.7)
        rows = sum(fact.last == 1 and fact.arm[1] == 0 and fact.psi[1][j] == 1.0 for fact in both.facts.values())
        goal = np.array([2.0, 0.0])[j] + moved
        enrol(np.eye(2)[j], 0, goal * (rows + 1) - place[j] * rows)  # the coefficient is now ``goal``
        place[j] = goal

        assert both.coefficients()[1][0] == pytest.approx(place)
        assert both.error() < 1e-9


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
