"""Policies of the caller's own, which play through a Session."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from simulation.worlds import DESIGN, NARROW, Branching, Own, Slow, policies


@pytest.mark.parametrize("arrivals", [None, Slow()], ids=["at once", "delayed"])
@pytest.mark.parametrize("design", [None, NARROW], ids=["own design", "narrow design"])
def test_a_policy_of_ones_own_gives_what_the_compiled_one_gives(
    design: dtr.Design | None, arrivals: Slow | None
) -> None:
    built_in = policies(design or DESIGN)
    own = {f"own {name}": Own(policy) for name, policy in built_in.items()}

    study = dtr.simulate(
        Branching(), {**built_in, **own}, horizon=130, paths=2, seed=4, arrivals=arrivals, design=design
    )

    for name in built_in:
        assert np.array_equal(study.arms[name], study.arms[f"own {name}"]), name
        assert np.array_equal(study.rewards[name], study.rewards[f"own {name}"], equal_nan=True), name


def test_a_fixed_regime_that_is_a_function_plays_too() -> None:
    always = dtr.FixedRegime(rule=lambda _: "2")

    study = dtr.simulate(Synthetic(), {"two": always}, horizon=30, paths=1)

    assert (study.arms["two"] == 1).all()
