"""The sheet that rules fill: who contends, who is best, and the names of reasons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.policies import sheet as sheets
from dtrbandit.policies.sheet import (
    CONTENDER,
    PROPENSITY,
    Q_HAT,
    Q_TILDE,
    REASON_NAMES,
    best,
    clear_sheet,
    prescribe,
    write_tilde,
)
from dtrbandit.record.events import REASONS

CHILD = np.array([[1, -1, 2], [-1, 3, -1]], dtype=np.int32)


def test_a_cleared_sheet_has_the_feasible_arms_as_contenders() -> None:
    sheet = np.full((4, 3), 7.0)

    assert [clear_sheet(CHILD, 0, sheet), clear_sheet(CHILD, 1, sheet)] == [2, 1]
    assert sheet[CONTENDER].tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(sheet[[Q_TILDE, Q_HAT]]).all()
    assert not sheet[PROPENSITY].any()


@given(
    st.lists(st.sampled_from([np.nan, -1.0, 0.0, 1.0, 2.0]), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_the_best_is_the_lowest_contender_with_the_largest_value(values: list[float], contends: list[bool]) -> None:
    sheet = np.zeros((4, len(values)))
    sheet[Q_HAT], sheet[CONTENDER] = values, contends[: len(values)]

    arms = [arm for arm in range(len(values)) if contends[arm]]
    known = [arm for arm in arms if not np.isnan(values[arm])]
    expected = min(known, key=lambda arm: (-values[arm], arm)) if known else min(arms, default=-1)

    assert best(sheet, Q_HAT) == expected


def test_a_prescribed_arm_is_certain_and_alone() -> None:
    sheet = np.full((4, 3), 7.0)

    prescribe(sheet, 2)

    assert sheet[PROPENSITY].tolist() == sheet[CONTENDER].tolist() == [0.0, 0.0, 1.0]


def test_q_tilde_is_the_product_of_coefficients_and_features() -> None:
    coefficients, sheet = np.arange(12.0).reshape(1, 3, 4), np.zeros((4, 3))
    coefficients[0, 1] = np.nan

    write_tilde(coefficients, np.array([[3, 2]]), 0, np.array([1.0, 10.0, 99.0, 99.0]), sheet)

    assert sheet[Q_TILDE] == pytest.approx([10.0, np.nan, 98.0], nan_ok=True)


def test_every_reason_by_number_is_one_that_a_log_knows() -> None:
    numbered = {name.lower(): number for name, number in vars(sheets).items() if name.lower() in REASON_NAMES}

    assert numbered == {name: number for number, name in enumerate(REASON_NAMES)}
    assert set(REASON_NAMES) < set(REASONS)
