"""Environments made of others: units from a table, and contraindications."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Contraindicated, PotentialOutcomes, Synthetic, Tabulated, checked
from dtrbandit.errors import DesignError
from dtrbandit.simulation.regret import Truth

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


# -- contraindications ---------------------------------------------------------------------------------------------


FIRST = Contraindicated(Synthetic(), {"first": {"2": 0.4}})


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_units_are_the_other_environments_and_exclusions_come_as_often_as_said() -> None:
    units, plain = FIRST.draw(2000, rng()), Synthetic().draw(2000, rng())

    assert np.array_equal(units.outcome, plain.outcome)
    assert units.excluded is not None
    assert not units.excluded[1].any()
    assert units.excluded[0].mean(axis=0) == pytest.approx([0.0, 0.4], abs=4 * np.sqrt(0.24 / 2000))
    assert units.q is not None
    assert checked(units) is units


def test_q_is_unknown_where_a_later_arm_is_contraindicated_and_every_unit_keeps_a_plan() -> None:
    units = Contraindicated(Synthetic(), {"second": {"1": 0.9, "2": 0.9}}).draw(500, rng())

    assert units.q is None
    assert units.excluded is not None
    assert not units.excluded[1].all(axis=1).any()


def test_regret_is_against_the_best_arm_that_a_unit_can_have() -> None:
    units = FIRST.draw(300, rng())
    assert units.q is not None
    assert units.excluded is not None
    best = np.argmax(np.where(units.excluded[0], -np.inf, units.q[0]), axis=1)
    second = np.argmax(units.q[1][np.arange(300), best], axis=1)
    arms = np.column_stack([best, second]).astype(np.int8)

    truth = Truth(units)

    assert np.array_equal(truth.regret(arms), np.zeros((300, 2)))
    assert np.array_equal(truth.oracle, units.outcome[np.arange(300), best, second])
    assert (Truth(units._replace(excluded=None)).regret(arms)[units.excluded[0][:, 1], 0] > 0).any()


def test_a_study_gives_nobody_what_is_contraindicated() -> None:
    study = dtr.simulate(FIRST, {"any": dtr.Greedy()}, horizon=200, paths=1)

    assert study.regret is not None
    units = FIRST.draw(200, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, 0))))
    assert units.excluded is not None
    assert not units.excluded[0][np.arange(200), study.arms["any"][0, :, 0]].any()


def test_a_table_keeps_exclusions() -> None:
    table = FIRST.draw(50, rng())

    drawn = Tabulated(table).draw(50, rng())

    row = np.random.default_rng(3).permutation(50)
    assert drawn.excluded is not None
    assert table.excluded is not None
    assert np.array_equal(drawn.excluded[0], table.excluded[0][row])


@pytest.mark.parametrize(
    ("exclude", "words"),
    [
        ({"third": {"1": 0.1}}, r"names 'third', allowed are \['first', 'second'\]"),
        ({"first": {"3": 0.1}}, r"names '3', allowed are \['1', '2'\]"),
        ({"first": {"1": 1.5}}, "Contraindicated: first, 1"),
        ({"first": {"1": 1.0, "2": 1.0}}, "no plan is ever left"),
    ],
)
def test_what_cannot_be_excluded_is_refused(exclude: Any, words: str) -> None:
    with pytest.raises(dtr.DesignError, match=words):
        Contraindicated(Synthetic(), exclude)


def test_exclusions_of_another_shape_or_type_are_refused() -> None:
    units = FIRST.draw(5, rng())
    assert units.excluded is not None

    with pytest.raises(dtr.DesignError, match="excluded has 1 stages, the design has 2"):
        checked(units._replace(excluded=units.excluded[:1]))
    with pytest.raises(dtr.DesignError, match=r"excluded\[0\] has shape"):
        checked(units._replace(excluded=(units.excluded[0][:3], units.excluded[1])))
    with pytest.raises(dtr.DesignError, match=r"excluded\[0\] holds int64, allowed is bool"):
        checked(units._replace(excluded=(units.excluded[0].astype(np.int64), units.excluded[1])))
