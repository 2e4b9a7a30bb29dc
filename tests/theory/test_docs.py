"""The page on theory: its lines run, and its numbers are right."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from dtrbandit import theory
from dtrbandit.theory.constants import LARGEST_DELTA

mpl.use("Agg")

PAGE = (Path(__file__).parents[2] / "docs/theory.md").read_text()


def test_the_pages_lines_run_on_a_smaller_scale(capsys: pytest.CaptureFixture[str]) -> None:
    import matplotlib.pyplot as plt

    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    code = code.replace("horizon=10_000", "horizon=200").replace("paths=20", "paths=2")

    exec(compile(code, "theory.md", "exec"), {})

    printed = capsys.readouterr().out
    assert "Simulated regret: " in printed
    assert "How often events fail with q = 20" in printed
    plt.close("all")


def test_every_name_on_the_page_is_there() -> None:
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", PAGE)) - {"print", "plot"}  # plot is a method

    assert len(named) > 25
    assert [name for name in sorted(named) if not hasattr(theory, name)] == []


def test_the_numbers_on_the_page_are_right() -> None:
    assert f"{theory.smallest_q(theory.synthetic_constants((0.15, 0.25))):.1e}" == "5.3e+18"


def test_no_delta_lets_theorem_1_start_below_ten_to_the_18_on_section_5_2() -> None:
    first, second = (np.linspace(0.02, 0.98, 25) * largest for largest in LARGEST_DELTA)

    asked = [theory.smallest_q(theory.synthetic_constants((float(a), float(b)))) for a in first for b in second]

    best = min(asked)
    least = theory.synthetic_constants((0.13, 0.02))
    assert 8e17 < best < 1.2e18
    assert 1e37 < theory.informative_from(least, theory.smallest_q(least)) < 1e39
    assert 1e18 < theory.informative_from(least, 5) < 1e19
