"""One set-up for all tests: Hypothesis draws the same examples on every run, and kernels run as machine code.

``DTRBANDIT_KERNELS=plain`` runs them as plain Python.
"""

import math

import pytest
from hypothesis import settings

from dtrbandit import belief
from dtrbandit.kernels import supply

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

belief.LONG = 0  # every log is taken many facts at a time
belief.STRETCH = 40  # so that most logs have usual stretches and others
belief.SHORTEST = 1


@pytest.fixture(scope="session", autouse=True)
def machine_code() -> None:
    """Wait once for the machine code of all kernels that tests import."""
    supply.require("the tests", seconds=math.inf)
