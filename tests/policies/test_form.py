"""How a sheet is read: for the arms of a stage, of which there may be fewer than a sheet has room for."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.kernels.constants import CONTENDER, PROPENSITY, Q_HAT, Q_TILDE
from dtrbandit.policies.form import form_of
from dtrbandit.record.values import unpacked

STAGE = dtr.Stage("first", ("a", "b"), "1")


def sheet(width: int) -> Matrix:
    """Return a sheet on which arm b has 0.75 and is the only contender; beyond the arms it is filled with 9."""
    rows = np.full((4, width), 9.0)
    rows[Q_TILDE, :2], rows[Q_HAT, :2] = (1.0, 2.0), (3.0, np.nan)
    rows[PROPENSITY, :2], rows[CONTENDER, :2] = (0.25, 0.75), (0.0, 1.0)
    return rows


def test_a_sheet_is_read_for_the_arms_of_a_stage_alone() -> None:
    for width in (2, 3, 5):
        form = form_of(STAGE, width)

        tilde, hat, chances = form.read(sheet(width))

        assert (form.stage, form.labels) == ("first", ("a", "b"))
        assert unpacked(tilde) == (1.0, 2.0)
        np.testing.assert_array_equal(unpacked(hat), (3.0, np.nan))
        assert form.said(chances) == ((0.25, 0.75), ("b",))


def test_rows_that_differ_say_something_else() -> None:
    form, changed = form_of(STAGE, 2), sheet(2)
    before = form.said(form.read(changed)[2])
    changed[CONTENDER, 0] = 1.0

    assert form.said(form.read(changed)[2]) == ((0.25, 0.75), ("a", "b"))
    assert before == ((0.25, 0.75), ("b",))
