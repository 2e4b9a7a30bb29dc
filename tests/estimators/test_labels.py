"""The label of a row and its lead, and the metric in which leads are measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dtrbandit.kernels import constants as c
from estimators.few_units import observed_units, small_design
from estimators.learners import by_hand, enter, measured
from estimators.level_checks import chain, labels, level_of

DESIGN = small_design()
numbers = st.integers(-2, 2).map(float)


@given(
    st.lists(st.tuples(numbers, numbers), min_size=3, max_size=3),
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.tuples(numbers, numbers).filter(any),
)
@example([(1.0, 0.0), (1.0, 1.0), (1.0, -1.0)], [1, 1, 1], [True, True, True], (1.0, 0.0))
@example([(1.0, 0.0), (1.0, 1.0), (1.0, -1.0)], [0, 1, 1], [True, True, True], (1.0, 0.0))
def test_the_label_is_the_lowest_of_the_best_arms_that_are_feasible_and_have_rows(
    coefficients: list[tuple[float, float]], rows: list[int], feasible: list[bool], psi: tuple[float, float]
) -> None:
    learner = by_hand(coefficients, [0.0])
    np.asarray(learner.rows)[1] = rows
    child = np.asarray(learner.observed.child)[1]
    child[:] = np.where(feasible, child, -1)

    enter(learner, 0, psi)

    values = {a: float(np.dot(coefficients[a], psi)) for a in range(3) if rows[a] and feasible[a]}
    label = min(values, key=lambda a: (-values[a], a)) if values else -1
    cross = np.asarray(learner.cross)[learner.problem[0, 0], :, :, 0]  # ψ of the first stage is 1
    assert cross.tolist() == [[*psi] if a == label else [0.0, 0.0] for a in range(3)]
    assert learner.rows[0, 0] == learner.counted[0, 0] == (label >= 0)
    assert learner.held[0] == (len(values) > 1)
    if len(values) > 1:
        assert labels(learner, 0) == {0: label}


@given(
    st.lists(st.tuples(numbers, numbers), min_size=3, max_size=3),
    st.tuples(numbers, numbers).filter(any),
    st.sampled_from([0.5, 1.0, 1.0 + 1e-9, 2.0]),
)
def test_the_lead_is_best_minus_second_best_over_the_length_of_the_features(
    coefficients: list[tuple[float, float]], psi: tuple[float, float], of_lead: float
) -> None:
    """A unit enters the wider of two levels, whose radius is a multiple of its lead, if that is at most 1."""
    best, second, _ = sorted((float(np.dot(beta, psi)) for beta in coefficients), reverse=True)
    lead = (best - second) / np.sqrt(np.dot(psi, psi))
    learner = by_hand(coefficients, [of_lead * lead, 0.0])

    enter(learner, 0, psi)

    assert level_of(learner, 0) == (0 if of_lead <= 1.0 or lead == 0.0 else 1)


# -- the metric ----------------------------------------------------------------------------------------------


def test_the_whitener_is_the_factor_of_the_mean_product_of_features() -> None:
    seen = observed_units(DESIGN, 30, leave=4)

    factor = np.asarray(measured(seen).whitener)[0]

    came = np.asarray(seen.nodes)[:, 1] >= 0
    features = np.asarray(seen.features)[came, 1]
    gram = features.T @ features / came.sum()
    assert 0 < came.sum() < 30
    assert np.triu(factor) == pytest.approx(np.linalg.cholesky(gram + c.RIDGE * np.diag(np.diag(gram))).T)


def test_a_feature_that_is_always_zero_has_length_one() -> None:
    seen = observed_units(DESIGN, 10)
    np.asarray(seen.features)[:, 1, 2] = 0.0

    assert measured(seen).whitener[0, 2, 2] == 1.0


def test_a_difference_of_values_is_bounded_by_the_two_lengths() -> None:
    """|Δ·ψ| ≤ ‖CΔ‖ ‖C⁻ᵀψ‖, with equality where Δ is parallel to (CᵀC)⁻¹ψ; in levels features have the length 1."""
    seen = observed_units(DESIGN, 60)
    learner = measured(seen)
    problems, factor = np.asarray(learner.problem)[1], np.triu(np.asarray(learner.whitener)[0])

    beta, white = np.asarray(learner.fits.beta)[problems], np.asarray(learner.white)[problems]

    slots = [slot for level in range(learner.depth[0]) for slot in chain(learner, 0, level)]
    assert white == pytest.approx(beta @ factor.T)
    assert len(slots) > 20
    for slot in slots:
        psi, unit = np.asarray(learner.cells)[0, slot], learner.units[0, slot]
        original = np.asarray(seen.features)[unit, 1]
        assert psi == pytest.approx(original / np.linalg.norm(np.linalg.solve(factor.T, original)))
        assert abs((beta[0] - beta[1]) @ psi) <= np.linalg.norm(white[0] - white[1]) * (1 + 1e-12)
        tight = np.linalg.solve(factor.T @ factor, psi)
        assert tight @ psi == pytest.approx(np.linalg.norm(factor @ tight))
