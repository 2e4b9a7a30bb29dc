"""Units from a table."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import PotentialOutcomes, Synthetic, Tabulated
from dtrbandit.errors import DesignError

TABLE = Synthetic().draw(40, np.random.default_rng(0))


def rows_of(units: PotentialOutcomes) -> list[int]:
    """Return the rows of the table that units are, found by their first context."""
    return [int(np.flatnonzero(TABLE.contexts[0]["x1"] == x)[0]) for x in units.contexts[0]["x1"]]


def test_without_replacement_every_unit_comes_once_in_random_order() -> None:
    rng = np.random.default_rng(1)

    one, other = (rows_of(Tabulated(TABLE).draw(40, rng)) for _ in range(2))

    assert sorted(one) == sorted(other) == list(range(40))
    assert one != other


def test_with_replacement_units_come_equally_often() -> None:
    rows = rows_of(Tabulated(TABLE, replace=True).draw(40_000, np.random.default_rng(2)))

    counts = np.bincount(rows, minlength=40)

    assert (np.abs(counts - 1000) <= 5 * np.sqrt(1000)).all()  # five standard deviations


@pytest.mark.parametrize("replace", [False, True])
def test_a_unit_keeps_all_that_belongs_to_it(replace: bool) -> None:
    units = Tabulated(TABLE, replace=replace).draw(30, np.random.default_rng(3))
    rows = rows_of(units)

    np.testing.assert_array_equal(units.contexts[1]["x2"], TABLE.contexts[1]["x2"][rows])
    np.testing.assert_array_equal(units.outcome, TABLE.outcome[rows])
    assert units.q is not None
    assert TABLE.q is not None
    assert all(np.array_equal(found, given[rows]) for found, given in zip(units.q, TABLE.q, strict=True))


def test_more_units_than_there_are_are_refused_without_replacement() -> None:
    with pytest.raises(DesignError, match="there are 40 units, found n = 41; draw fewer, or with replace=True"):
        Tabulated(TABLE).draw(41, np.random.default_rng(0))


def test_nothing_can_be_drawn_from_nothing() -> None:
    nothing = Tabulated(TABLE, replace=True).draw(0, np.random.default_rng(0))

    with pytest.raises(DesignError, match="there are 0 units"):
        Tabulated(nothing, replace=True).draw(1, np.random.default_rng(0))


def test_a_table_that_does_not_fit_its_design_is_refused() -> None:
    with pytest.raises(DesignError, match="outcome of unit 0 after arms"):
        Tabulated(TABLE._replace(outcome=TABLE.outcome * np.nan))


def test_a_table_is_shown_by_its_size_and_told_from_others_by_any_of_its_numbers() -> None:
    units = Synthetic().draw(5000, np.random.default_rng(0))
    other = units._replace(outcome=units.outcome.copy())
    other.outcome[2500, 1, 1] += 1.0

    shown = repr(Tabulated(units))

    assert "5,000 units" in shown
    assert shown == repr(Tabulated(units))
    assert shown != repr(Tabulated(other))
    assert len(shown) < 80
