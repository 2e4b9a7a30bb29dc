"""A study that several files look at."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from simulation.compared import POLICIES


@pytest.fixture(scope="session")
def study() -> dtr.Study:
    return dtr.simulate(Synthetic(), POLICIES, horizon=1000, paths=8, seed=1)
