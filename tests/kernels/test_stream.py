"""The stream of uniform numbers: addressed, in range, and uniform."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.kernels.stream import ROUNDS, drawn_for, uniform, uniforms


def test_a_number_depends_on_its_address_alone() -> None:
    forward = [uniform(7, t, m, 2) for t in range(1, 600) for m in range(2)]
    backward = [uniform(7, t, m, 2) for t in reversed(range(1, 600)) for m in reversed(range(2))]

    assert forward == backward[::-1]
    assert len(set(forward)) == len(forward)


def test_the_numbers_are_philox_words_with_seed_and_block_as_key() -> None:
    words = np.random.Philox(key=np.array([7, 2], dtype=np.uint64)).random_raw(6)

    assert uniforms(7, 2, 3)[:2].ravel().tolist() == [(int(word) >> 11) / 2**53 for word in words]
    assert uniform(7, 513, 0, 3) == uniforms(7, 2, 3)[0, 0]


@pytest.mark.parametrize("rounds", [0, 1, ROUNDS, ROUNDS + 1, 3 * ROUNDS])
def test_the_numbers_of_many_rounds_are_those_of_each(rounds: int) -> None:
    drawn = drawn_for(7, rounds, 3)

    blocks, rest = divmod(len(drawn), ROUNDS)
    assert (rest, len(drawn) >= max(rounds, 1), len(drawn) < rounds + 2 * ROUNDS) == (0, True, True)
    assert drawn.tolist() == [row for block in range(blocks) for row in uniforms(7, block, 3).tolist()]
    assert drawn.flags.c_contiguous
    assert drawn[-1, 2] == uniform(7, len(drawn), 2, 3)


def test_numbers_that_are_shared_cannot_be_written_over() -> None:
    with pytest.raises(ValueError, match="read-only"):
        uniforms(7, 0, 2)[0, 0] = 0.5


def test_the_numbers_are_uniform() -> None:
    """2·10⁵ numbers: the largest distance of the distribution functions is below 1.95/√n in 99.9 % of draws."""
    numbers = np.sort(np.concatenate([uniforms(1, block, 2).ravel() for block in range(391)]))
    n = len(numbers)

    distance = np.max(np.abs(numbers - (np.arange(n) + 0.5) / n))

    assert numbers[0] >= 0
    assert numbers[-1] < 1
    assert distance < 1.95 / np.sqrt(n)
