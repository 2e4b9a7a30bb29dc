"""What units must look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic, checked
from dtrbandit.environments.potential_outcomes import by_node, reached
from dtrbandit.errors import DesignError
from simulation.worlds import DESIGN as BRANCHING
from simulation.worlds import NARROW, Branching

NAN = np.nan
DESIGN = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b"), features="1 + x"),
        dtr.Stage("second", arms=("a", "b"), features="1 + w", enter_if="z > 0"),
    ],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def three_units() -> PotentialOutcomes:
    """The first stays on; the second leaves after arm a, the third after both."""
    x = np.array([1.0, 2.0, 3.0])
    z = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    w = np.array([[5.0, 6.0], [NAN, 6.0], [NAN, NAN]])
    outcome = np.array([[[1.0, 2.0], [NAN, 3.0]], [[4.0, 4.0], [NAN, 5.0]], [[6.0, 6.0], [NAN, 7.0]]])
    second = np.where(np.isnan(w)[:, :, None], NAN, outcome)
    first = np.array([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    return PotentialOutcomes(DESIGN, ({"x": x}, {"w": w, "z": z}), outcome, (first, second))


def test_units_that_fit_are_returned_as_they_are() -> None:
    units = three_units()

    assert checked(units) is units
    assert checked(units._replace(q=None)).q is None


Break = Callable[[PotentialOutcomes], Any]


def true_q(units: PotentialOutcomes) -> tuple[Any, ...]:
    assert units.q is not None
    return units.q


def put(array: Callable[[PotentialOutcomes], Any], place: tuple[int, ...], value: float) -> Break:
    def change(units: PotentialOutcomes) -> None:
        array(units)[place] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda u: u._replace(outcome=u.outcome[:, :, :1]), r"outcome has shape \(3, 2, 1\), .* \(3, 2, 2\)"),
        (lambda u: u._replace(outcome=u.outcome.astype(np.float32)), "outcome holds float32, allowed is float64"),
        (lambda u: u._replace(contexts=u.contexts[:1]), "the design has"),
        (lambda u: u._replace(contexts=({"y": u.contexts[0]["x"]}, u.contexts[1])), "columns are"),
        (lambda u: u._replace(contexts=({"x": u.contexts[0]["x"][:2]}, u.contexts[1])), "column 'x' has shape"),
        (lambda u: u._replace(q=u.q[:1]), "q has 1 stages, the design has 2"),
        (lambda u: u._replace(q=(u.q[0], u.q[0])), r"q\[1\] has shape \(3, 2\)"),
        (put(lambda u: u.contexts[0]["x"], (1,), NAN), r"column 'x' of unit 1 after arms \(\) must be finite"),
        (put(lambda u: u.contexts[1]["z"], (2, 0), NAN), r"column 'z' of unit 2 after arms \(0,\) must be finite"),
        (put(lambda u: u.contexts[1]["w"], (0, 1), NAN), r"column 'w' of unit 0 after arms \(1,\) must be finite"),
        (put(lambda u: u.outcome, (0, 0, 1), np.inf), r"outcome of unit 0 after arms \(0, 1\) must be finite"),
        (put(lambda u: u.outcome, (0, 1, 0), 1.0), r"outcome of unit 0 after arms \(1, 0\) must be NaN: infeasible"),
        (put(lambda u: u.outcome, (1, 0, 1), 4.5), r"outcome of unit 1 after arms \(0,\) must be the same"),
        (put(lambda u: true_q(u)[0], (2, 1), NAN), r"q\[0\] of unit 2 after arms \(1,\) must be finite"),
        (put(lambda u: true_q(u)[1], (0, 0, 0), NAN), r"q\[1\] of unit 0 after arms \(0, 0\) must be finite"),
        (put(lambda u: true_q(u)[1], (0, 1, 0), 0.0), r"q\[1\] of unit 0 after arms \(1, 0\) must be NaN: infeasible"),
    ],
)
def test_units_that_do_not_fit_are_refused(change: Break, words: str) -> None:
    units = three_units()
    units = change(units) or units

    with pytest.raises(DesignError, match=words):
        checked(units)


def test_contexts_after_infeasible_arms_must_be_nan() -> None:
    design = dtr.Design(
        [dtr.Stage(name, arms=("a", "b"), features=f"1 + x{name}") for name in "123"],
        plans=[("a", "a", "a"), ("a", "b", "b"), ("b", "b", "a")],
    )
    outcome = np.full((1, 2, 2, 2), NAN)
    for plan in design.arm_plans:
        outcome[(0, *plan)] = 1.0
    third = np.array([[[0.0, 0.0], [NAN, 0.0]]])
    contexts = {"x1": np.zeros(1)}, {"x2": np.zeros((1, 2))}, {"x3": third}
    units = PotentialOutcomes(design, contexts, outcome, None)
    assert checked(units) is units

    third[0, 1, 0] = 0.0

    with pytest.raises(DesignError, match=r"column 'x3' of unit 0 after arms \(1, 0\) must be NaN: infeasible"):
        checked(units)


# -- what units bring to each node ---------------------------------------------------------------------------------


def test_features_and_entries_are_those_of_each_unit_at_each_node() -> None:
    units = Branching().draw(40, np.random.default_rng(1))
    x1, x2 = units.contexts[0]["x1"], units.contexts[1]["x2"]

    table = by_node(units)

    for arm in (0, 1):
        node = BRANCHING.tree.after((arm,))
        entered = x2[:, arm] > -1
        expected = np.column_stack([np.ones(40), x1, x2[:, arm], np.full(40, arm == 1)])
        assert table.enters[:, node].tolist() == entered.tolist()
        assert table.features[:, node, :4].tolist() == expected.tolist()
    assert np.isnan(table.features[:, 0, 2:]).all()  # the first stage has two


def test_a_leaver_without_a_whole_context_has_no_features() -> None:
    units = Branching().draw(200, np.random.default_rng(2))
    node = BRANCHING.tree.after((1, 2))
    unknown = np.isnan(units.contexts[2]["x3"][:, 1, 2])

    table = by_node(units)

    assert 0 < unknown.sum() < 200
    assert np.isnan(table.features[unknown, node]).all()
    assert np.isfinite(table.features[~unknown, node, :2]).all()


def test_a_learners_design_has_its_own_features_and_plans() -> None:
    units = Branching().draw(30, np.random.default_rng(3))

    table = by_node(units, NARROW)

    assert table.features.shape[2] == max(NARROW.dimensions)
    assert (table.features[:, 0, 0] == 1).all()
    for plan, outcomes in zip(NARROW.arm_plans, table.outcome.T, strict=True):
        first, second, third = plan
        assert outcomes.tolist() == units.outcome[:, first, second, third].tolist()


def test_a_unit_that_ends_at_a_node_has_the_outcome_of_a_plan_through_it() -> None:
    units = Branching().draw(10, np.random.default_rng(4))

    leaf = by_node(units).leaf

    for node, p in enumerate(leaf.tolist()):
        arms = BRANCHING.tree.arms_to[node]
        assert BRANCHING.arm_plans[p][: len(arms)] == arms


def test_who_has_left_comes_to_no_later_node() -> None:
    tree = BRANCHING.tree
    enters = np.ones((3, len(tree.child)), dtype=bool)
    enters[0, tree.after((0,))] = enters[1, tree.after((1, 2))] = False

    through = reached(enters, tree)

    assert through[2].all()
    for node, arms in enumerate(tree.arms_to[: len(tree.child)]):
        assert through[0, node] == (arms[:1] != (0,))
        assert through[1, node] == (arms != (1, 2))
    assert enters.sum() == enters.size - 2  # what was given stays


def test_without_a_condition_all_enter_everywhere() -> None:
    table = by_node(Synthetic().draw(7, np.random.default_rng(0)))

    assert table.enters.all()
    assert table.leaf.tolist() == [0, 0, 2, 0, 1, 2, 3]
