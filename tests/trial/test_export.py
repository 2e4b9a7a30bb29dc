"""Exports: a Cohort reads them as it reads the log, and they give away neither the seed nor a spreadsheet's owner."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.trial import Exported, Trial
from trial.small_trial import DESIGN, POLICY, begun, fill

FORMATS: list[Literal["csv", "parquet", "jsonl"]] = ["csv", "parquet", "jsonl"]


def a_trial() -> Trial:
    trial = begun("memory://", seed=1234567890123)
    for t in range(20):
        unit = f"u{t}"
        arm = trial.enroll(unit, {"x": t / 7}).arm
        if t % 6 == 2:
            trial.override(unit, "a" if arm == "b" else "b", reason="allergy")
        trial.respond(unit, {"r": -1.0} if t % 4 == 3 else {"r": 1.0, "z": t / 11})
        if t % 7 == 4:
            trial.withdraw(unit, reason="moved away")
        elif t < 16:
            trial.complete(unit, t / 3 - 2)
    trial.correct("u1", outcome=0.1 + 0.2, reason="typo")
    trial.void("u5", reason="not eligible")
    return trial


def read(exported: Exported) -> object:
    if exported.path.suffix == ".jsonl":
        return pd.read_json(exported.path, lines=True, precise_float=True, dtype=False)
    return exported.path


@pytest.mark.parametrize("kind", FORMATS)
def test_a_cohort_reads_an_export_as_it_reads_the_log(kind: Literal["csv", "parquet", "jsonl"], tmp_path: Path) -> None:
    trial = a_trial()

    exported = trial.export(tmp_path / f"units.{kind}")

    expected = dtr.Cohort.from_log(trial.session_log())
    found = dtr.Cohort.from_frame(
        read(exported), DESIGN, arms=exported.arms, outcome=exported.outcome, unit=exported.unit
    )
    assert found.units == expected.units
    assert np.array_equal(found.arms, expected.arms)
    assert np.array_equal(found.outcome, expected.outcome, equal_nan=True)
    for mine, theirs in zip(found.contexts, expected.contexts, strict=True):
        assert all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in theirs)
    assert (exported.units, exported.waiting) == (len(expected), 4)
    assert found.origin is not None
    assert found.origin.kind == "adaptive"
    assert found.collected_by == "a policy that learnt"


@pytest.mark.parametrize("kind", FORMATS)
def test_what_was_decided_and_how_probable_it_was_is_exported(
    kind: Literal["csv", "parquet", "jsonl"], tmp_path: Path
) -> None:
    trial = a_trial()

    exported = trial.export(tmp_path / "units", format=kind)

    source = {"csv": pd.read_csv, "parquet": pd.read_parquet}.get(kind)
    frame = source(exported.path) if source else pd.read_json(exported.path, lines=True, precise_float=True)
    recorded = dtr.Cohort.from_log(trial.session_log()).origin.recorded  # type: ignore[union-attr]  # it has one
    assert recorded is not None
    for m, stage in enumerate(DESIGN.stages):
        assert np.array_equal(frame[f"{stage.name}_propensity"], recorded.propensity[:, m], equal_nan=True)
        decided = [stage.arms[arm] if arm >= 0 else None for arm in recorded.arms[:, m]]
        assert [None if cell != cell else cell for cell in frame[f"{stage.name}_decided"]] == decided
        assert set(frame[f"{stage.name}_reason"].dropna()) <= {"forced", "clear", "close", "only_feasible"}


@pytest.mark.parametrize("kind", FORMATS)
def test_the_seed_is_nowhere_in_an_export(kind: Literal["csv", "parquet", "jsonl"], tmp_path: Path) -> None:
    a_trial().export(tmp_path / f"units.{kind}")

    content = (tmp_path / f"units.{kind}").read_bytes()

    assert b"1234567890123" not in content
    assert b"seed" not in content


@pytest.mark.parametrize("unit", ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(0)"])
def test_a_text_that_a_spreadsheet_would_run_is_escaped(unit: str, tmp_path: Path) -> None:
    trial = Trial.create("own", dtr.Design([dtr.Stage("=s", ("+a", "b"), "1 + x")]), POLICY, storage="memory://")
    trial.enroll(unit, {"x": -1.0})
    trial.complete(unit, -2.0)

    trial.export(tmp_path / "units.csv")

    with (tmp_path / "units.csv").open(newline="") as file:
        header, row = csv.reader(file)
    assert not [cell for cell in header if cell[0] in "=+-@"]
    texts = [cell for cell in row if cell[0] in "=+-@"]
    assert [float(cell) for cell in texts] == [-1.0, -2.0]  # numbers are safe
    assert f"'{unit}" in row


def test_names_that_are_taken_get_another(tmp_path: Path) -> None:
    design = dtr.Design([dtr.Stage("unit", ("a", "b"), "1 + outcome + unit_decided")])
    trial = Trial.create("own", design, POLICY, storage="memory://")
    trial.enroll("u1", {"outcome": 1.0, "unit_decided": 2.0})
    trial.complete("u1", 3.0)

    exported = trial.export(tmp_path / "units.jsonl")

    row = json.loads((tmp_path / "units.jsonl").read_text())
    assert (exported.unit, exported.outcome) == ("unit_", "outcome_")
    assert (row["unit_"], row["outcome_"], row["outcome"], row["unit_decided"]) == ("u1", 3.0, 1.0, 2.0)


def test_a_format_that_is_none_and_a_trial_without_outcomes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match="csv, parquet, jsonl, found 'xlsx'"):
        a_trial().export(tmp_path / "units.xlsx")
    trial = begun("memory://")
    trial.enroll("u1", {"x": 1.0})
    with pytest.raises(dtr.NotEstimable, match="has an outcome yet"):
        trial.export(tmp_path / "units.csv")

    assert list(tmp_path.iterdir()) == []


def test_what_a_unit_could_not_have_has_columns_that_a_cohort_reads(tmp_path: Path) -> None:
    trial = begun("memory://")
    stage = trial.design.stages[0]
    trial.enroll("u1", {"x": 1.0}, exclude={stage.name: [stage.arms[0]]}, reason="allergy")
    trial.withdraw("u1", reason="moved away")

    trial.export(tmp_path / "units.jsonl")

    row = json.loads((tmp_path / "units.jsonl").read_text())
    assert [row[f"{stage.name}_not_{arm}"] for arm in stage.arms] == [1, 0]


@pytest.mark.parametrize("overridden", [False, True])
def test_arms_given_at_random_are_called_so_unless_one_was_overridden(overridden: bool, tmp_path: Path) -> None:
    trial = Trial.create("pilot", DESIGN, dtr.UniformRandom(), storage="memory://", seed=1)
    fill(trial, 4, first=1)
    if overridden:
        given = trial.unit("u1").decisions[0].arm
        trial.override("u1", "a" if given == "b" else "b", reason="it was given", stage="first")

    exported = trial.export(tmp_path / "units.csv")
    found = dtr.Cohort.from_frame(
        exported.path, DESIGN, arms=exported.arms, outcome=exported.outcome, unit=exported.unit
    )

    assert (found.origin and found.origin.kind) == (None if overridden else "randomised")


def test_an_exported_trial_of_a_policy_that_learnt_gets_no_interval_for_independent_units(tmp_path: Path) -> None:
    trial = begun("memory://")
    fill(trial, 60)
    for t in range(0, 60, 5):
        trial.complete(f"u{t}", t / 100)
    exported = trial.export(tmp_path / "units.csv")
    columns: dict[str, Any] = {"arms": exported.arms, "outcome": exported.outcome, "unit": exported.unit}

    cohort = dtr.Cohort.from_frame(exported.path, DESIGN, **columns)

    assert "no interval" in str(dtr.QLearning(DESIGN).fit(cohort).summary()).lower()
    with pytest.raises(dtr.DesignError, match="a policy that learnt"):
        dtr.PropensityModel().fit(cohort)
    two = pd.read_csv(exported.path)
    two.loc[3:, "dtrbandit_origin"] = "randomised"
    with pytest.raises(dtr.DesignError, match="2 ways"):
        dtr.Cohort.from_frame(two, DESIGN, **columns)
