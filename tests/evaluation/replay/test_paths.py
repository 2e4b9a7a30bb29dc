"""One path of a replay, and the room that paths need."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.replay.paths import play_path, prepare, room
from evaluation.replay_worlds import two_stage_cohort


def test_a_path_is_as_long_as_the_horizon_and_a_shorter_one_is_its_beginning() -> None:
    cohort = two_stage_cohort(100)
    long, short = (
        play_path(prepare(dtr.Greedy(), cohort, None, horizon=rounds, seed=2, once=False), 5) for rounds in (60, 25)
    )

    assert len(long.rows) == 60
    assert long.number == 5
    assert (long.rows[:25] == short.rows).all()
    assert 25 <= short.draws <= long.draws


def test_there_is_room_for_what_fits_into_memory_only() -> None:
    assert room((2, 3, 4), np.float64).shape == (2, 3, 4)
    with pytest.raises(dtr.DesignError, match="no memory for 6 paths of 1000000000000000 rounds"):
        room((2, 3, 10**15), np.int32)
