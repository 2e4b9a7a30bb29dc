"""The tree of a design: it leads along the feasible plans and nowhere else."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.design.tree import grow_tree

plans_of_three_stages = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, unique=True
)


@given(plans_of_three_stages)
def test_the_tree_leads_exactly_along_the_feasible_plans(plans: list[tuple[int, int, int]]) -> None:
    arms = [sorted({plan[m] for plan in plans}) for m in range(3)]
    stages = [dtr.Stage(f"s{m}", tuple(str(a) for a in arms[m]), f"x{m}") for m in range(3)]
    design = dtr.Design(stages, plans=[[str(a) for a in plan] for plan in plans])

    tree = design.tree
    leaves = {}
    for path in product(*(range(len(a)) for a in arms)):
        leaves[path] = tree.after(path)
        for m in range(3):
            node = tree.after(path[:m])
            if node >= 0:
                follows = any(
                    tuple(arms[k].index(plan[k]) for k in range(m + 1)) == (*path[:m], path[m]) for plan in plans
                )
                assert tree.feasible[node][path[m]] == follows

    feasible = [path for path, leaf in leaves.items() if leaf >= 0]
    assert feasible == list(design.arm_plans)
    assert [leaves[path] - len(tree.child) for path in feasible] == list(range(len(feasible)))


PLANS = ((0, 0, 1), (0, 2, 0), (0, 2, 1), (1, 0, 0))


def test_nodes_are_numbered_stage_by_stage_in_lexicographic_order() -> None:
    tree = grow_tree(PLANS, (2, 3, 2))

    assert tree.arms_to == ((), (0,), (1,), (0, 0), (0, 2), (1, 0), *PLANS)
    assert tree.parents == (-1, 0, 0, 1, 1, 2, 3, 4, 4, 5)
    assert [tree.after(arms) for arms in tree.arms_to] == list(range(10))
    assert tree.feasible[1] == (True, False, True)
    assert tree.feasible[6:] == ((), (), (), ())


def test_infeasible_arms_lead_nowhere_also_half_way() -> None:
    tree = grow_tree(PLANS, (2, 3, 2))

    assert tree.after((0, 1)) == tree.after((0, 1, 0)) == tree.after((1, 0, 1)) == -1
    assert tree.following == tuple(tuple(row) for row in tree.child.tolist())


def test_a_tree_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        grow_tree(PLANS, (2, 3, 2)).child[0, 0] = 5
