"""The tree of a design: it leads along the feasible plans and nowhere else."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr

plans_of_three_stages = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, unique=True
)


@given(plans_of_three_stages)
def test_the_tree_leads_exactly_along_the_feasible_plans(plans: list[tuple[int, int, int]]) -> None:
    arms = [sorted({plan[m] for plan in plans}) for m in range(3)]
    stages = [dtr.Stage(f"s{m}", [str(a) for a in arms[m]], f"x{m}") for m in range(3)]  # type: ignore[arg-type]
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
