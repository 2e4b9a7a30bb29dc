"""Weighted least squares: against plain formulas, and without a compiler."""

from __future__ import annotations

import subprocess
import sys

FIT = """
import sys
import pandas as pd
from dtrbandit import Cohort, Design, QLearning, Stage
design = Design([Stage("only", ("a", "b"), "1 + x")])
frame = pd.DataFrame({"x": [0, 1, 2, 0, 1, 3], "A": list("aaabbb"), "Y": [1, 2, 2, 3, 1, 0]})
print(QLearning(design).fit(Cohort.from_frame(frame, design, arms=["A"], outcome="Y")).value_)
print(*(name for name in ("numba", "llvmlite") if name in sys.modules))
"""


def test_plain_regression_imports_no_compiler() -> None:
    run = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)

    value, loaded = run.stdout.splitlines()
    assert float(value) > 0
    assert loaded == ""
