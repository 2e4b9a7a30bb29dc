"""Resamples, against those drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.resampling import resampled_counts, resampled_rows


@given(st.integers(1, 20), st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_resamples_drawn_one_by_one(n: int, resamples: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one_by_one = [np.bincount(resampled_rows(rng, n), minlength=n).tolist() for _ in range(resamples)]

    assert resampled_counts(np.random.default_rng(seed), n, resamples=resamples).tolist() == one_by_one


@pytest.mark.parametrize("size", [1, 3, 7])
def test_each_resample_has_as_many_rows_as_asked_for(size: int) -> None:
    counts = resampled_counts(np.random.default_rng(0), 5, resamples=4, size=size)

    assert counts.shape == (4, 5)
    assert counts.sum(axis=1).tolist() == [size] * 4
