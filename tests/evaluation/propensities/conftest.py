"""One cohort in the shape of STAR*D for all tests of propensities; figures are closed."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pytest

from dtrbandit.evaluation import Cohort
from evaluation.simulated_cohorts import stard_like

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def stard() -> Cohort:
    return stard_like(1260, seed=0)
