"""Decisions from sheets: for the arms of a stage, of which there may be fewer than a sheet has room for."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.kernels.constants import CONTENDER, PROPENSITY, Q_HAT, Q_TILDE
from dtrbandit.policies.decisions import MOST_CACHED, REASON_NAMES, DecisionReader

STAGE = dtr.Stage("first", ("a", "b"), "1")


def sheet(width: int) -> Matrix:
    """Return a sheet on which arm b has 0.75 and is the only contender; beyond the arms it is filled with 9."""
    rows = np.full((4, width), 9.0)
    rows[Q_TILDE, :2], rows[Q_HAT, :2] = (1.0, 2.0), (3.0, np.nan)
    rows[PROPENSITY, :2], rows[CONTENDER, :2] = (0.25, 0.75), (0.0, 1.0)
    return rows


def test_a_decision_is_read_for_the_arms_of_its_stage_alone() -> None:
    for width in (2, 3, 5):
        decision = DecisionReader(STAGE, width).read(sheet(width), "u", 7, 1, REASON_NAMES.index("close"))

        assert decision[:6] == ("u", 7, "first", "b", "close", 0.75)
        assert dict(decision.q_tilde) == {"a": 1.0, "b": 2.0}
        assert dict(decision.q_hat) == {"a": 3.0, "b": None}
        assert decision.contenders == ("b",)
        assert decision.infeasible == ()


def test_rows_that_differ_say_something_else() -> None:
    reader, changed = DecisionReader(STAGE, 2), sheet(2)
    before = reader.read(changed, "u", 1, 1, 0)
    changed[CONTENDER, 0] = 1.0

    after = reader.read(changed, "u", 1, 1, 0)

    assert (before.contenders, after.contenders) == (("b",), ("a", "b"))
    assert before.propensity == after.propensity == 0.75


def test_more_rows_than_are_remembered_are_read_all_the_same() -> None:
    reader, changed = DecisionReader(STAGE, 2), sheet(2)

    for number in range(MOST_CACHED + 5):
        changed[PROPENSITY, 1] = number / 5000
        assert reader.read(changed, "u", 1, 1, 0).propensity == number / 5000
