"""STAR*D as the paper evaluates it: the simulated cohort and the Offline rule."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dtrbandit import datasets
from dtrbandit.datasets import (
    OFFLINE,
    offline_regime,
    stard_cohort_table,
    stard_counts,
)
from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.datasets.stard_table import WIDE
from dtrbandit.environments import STARD
from dtrbandit.errors import DesignError

PAGE = (Path(__file__).parents[2] / "docs/stard.md").read_text()


# -- the simulated cohort --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_a_cohort_has_the_published_counts(seed: int) -> None:
    counts = stard_counts(stard_cohort_table(seed=seed))

    assert counts["found"].tolist() == counts["published"].tolist() == [1260, 468, 465, 327, 189]


def test_a_cohort_holds_the_first_logged_rows_of_each_kind_in_their_order() -> None:
    logged = pd.DataFrame(STARD().logged(6_000, np.random.default_rng(5)))
    room = {"remitted": 468, "dropped out": 465, "stage 2 ssri": 189, "stage 2 other": 138}
    rows = []
    for row, (status, arm) in enumerate(zip(logged["status"], logged["A1"], strict=True)):
        kind = f"{status} {arm}" if status == "stage 2" else status
        if room[kind] > 0:
            room[kind] -= 1
            rows.append(row)

    table = stard_cohort_table(seed=5)

    pd.testing.assert_frame_equal(table, logged.loc[rows].reset_index(drop=True))


def test_the_default_seed_is_the_one_that_table_1_uses() -> None:
    """How it was chosen: tests/reproduce/table1/test_patients.py."""
    pd.testing.assert_frame_equal(stard_cohort_table(), stard_cohort_table(seed=COHORT_SEED))

    assert not stard_cohort_table()["Y"].equals(stard_cohort_table(seed=1)["Y"])
    with pytest.raises(DesignError, match="stard_cohort_table: seed must be a whole number of at least 0, found -1"):
        stard_cohort_table(seed=-1)


# -- the offline rule ------------------------------------------------------------------------------------------------


def offline_arms(start: int, slope: float, preference: float) -> list[bool]:
    """Say where the rule gives an SSRI at stage 1 and 2, in hundredths so that 0 is 0."""
    return [-73 + start + slope - 67 * preference > 0, -18 - start - 25 * slope > 0]


@pytest.mark.parametrize("codes", [(1.0, -1.0), (1.0, 2.0), (2.0, 1.0)])
def test_the_offline_rule_is_the_published_one_in_every_coding(codes: tuple[float, float]) -> None:
    design = STARD(preference=codes).design
    scores = np.asarray(offline_regime(codes).init(design).scores)

    for start in range(27):
        for slope in (
            -2.0,
            -1.0,
            -0.72,
            0.0,
            1.0,
        ):  # 0 is met: start 8, slope −2; start 7, slope −1
            for preference, code in zip((1.0, -1.0), codes, strict=True):
                psi = np.array([1.0, start, slope, code])
                found = [bool(np.argmax(arms @ psi) == 0) for arms in scores]
                assert found == offline_arms(start, slope, preference)


def test_the_offline_rule_refuses_features_without_an_intercept() -> None:
    with pytest.raises(DesignError, match="each arm needs 3 coefficients"):
        OFFLINE.init(STARD(intercept=False).design)


# -- the page --------------------------------------------------------------------------------------------------------


def test_the_pages_lines_run_on_a_smaller_scale(capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    code = code.replace("horizon=5_000", "horizon=100").replace("paths=80", "paths=2")

    exec(compile(code, "stard.md", "exec"), {})

    printed = capsys.readouterr().out
    assert "Regret after 100 rounds" in printed
    assert "1260" in printed


def test_the_pages_names_are_there() -> None:
    named = set(re.findall(r"`((?:read_|stard_|offline_)\w+)\b", PAGE)) - {"stard_exact"}

    assert {"read_stard_wide", "read_stard_raw", "stard_table", "offline_regime"} <= named
    assert [name for name in sorted(named) if not hasattr(datasets, name)] == []
    assert all(column in PAGE for column in WIDE)
