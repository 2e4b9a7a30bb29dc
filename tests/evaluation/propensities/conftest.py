"""One cohort in the shape of STAR*D for all tests of propensities."""

from __future__ import annotations

import pytest

from dtrbandit.evaluation import Cohort
from evaluation.simulated_cohorts import stard_like


@pytest.fixture(scope="module")
def stard() -> Cohort:
    return stard_like(1260, seed=0)
