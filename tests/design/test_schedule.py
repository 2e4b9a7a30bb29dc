"""The schedule of forced rounds, against its closed form; ``tests/paper/test_schedule.py`` has the paper's sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.design.schedule import forced_plan, place


@given(st.integers(1, 2**63 - 1), st.integers(1, 50), st.integers(1, 50))
def test_a_round_stands_in_the_block_that_counting_bits_gives(t: int, plans: int, q: int) -> None:
    block, offset = divmod(t - 1, plans * q)

    forced, latest, found = place(t, plans, q)

    assert found == offset
    assert latest == (block + 1).bit_length() - 1
    assert forced is ((block + 1) & block == 0)


@pytest.mark.parametrize("q", [1, 3])
def test_each_forced_block_gives_each_plan_to_q_rounds_in_order(q: int) -> None:
    plans = ((0,), (1,), (2,))
    block = [forced_plan(t, plans, q=q) for t in range(3 * 3 * q + 1, 4 * 3 * q + 1)]

    assert block == [plan for plan in plans for _ in range(q)]
    assert forced_plan(2 * 3 * q + 1, plans, q=q) is None
    assert forced_plan(4 * 3 * q + 1, plans, q=q) is None


@pytest.mark.parametrize("t", [2**31, 2**32, 2**32 + 1, 2**62 - 1, 2**62, 2**63 - 1])
def test_as_many_rounds_as_can_be_counted_have_a_place(t: int) -> None:
    assert place(t, 1, 1) == (t & (t - 1) == 0, t.bit_length() - 1, 0)


def test_a_block_of_no_rounds_does_not_end_the_program() -> None:
    assert place(1, 0, 1) == place(1, 4, 0) == (True, 0, 0)
    with pytest.raises(ZeroDivisionError):
        forced_plan(1, ((0,), (1,)), q=0)
