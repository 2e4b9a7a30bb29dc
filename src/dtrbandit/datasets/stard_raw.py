"""The analysis table of STAR*D from the raw release of the NIMH Data Archive (collection 2148)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dtrbandit.datasets.stard import read_file, stard_counts, stard_table
from dtrbandit.environments.stard_law import REMISSION
from dtrbandit.errors import DesignError, ObservationError

SLEEP = ["vsoin", "vmnin", "vemin", "vhysm"]
APPETITE = ["vapdc", "vapin", "vwtdc", "vwtin"]
SPEED = ["vslow", "vagit"]
SINGLE = ["vmdsd", "vcntr", "vvwsf", "vsuic", "vintr", "vengy"]
MISSING = 999
FLAGS = (("medswl2", "cogswl2"), ("medaugl2", "cogaugl2"))  # strategies that are acceptable at level 2: switch, augment
SSRIS = ("CIT", "SER")
FIRST = [frozenset(each.split("+")) for each in ("SER", "CIT+BUP", "CIT+BUS", "CIT+CT", "BUP", "VEN", "CT")]
SECOND = [frozenset({drug, added}) for drug in ("CIT", "SER", "BUP", "VEN") for added in ("LI", "THY")]
SECOND += [frozenset({"MIRT"}), frozenset({"NTP"})]
STAGES = {"Level 1": 0, "Level 2": 1, "Level 2.1": 1, "Level 3": 2}


def read_stard_raw(
    folder: str | Path,
    *,
    switch2: Sequence[str],
    augment2: Sequence[str],
    elsewhere: Collection[str] = ("CIT", "TCP", "VEN+MIRT"),
) -> pd.DataFrame:
    """Build the analysis table from ``qids01.txt`` and ``ivra01.txt``, and say on stderr how many patients there are.

    Patients without a level-1 slope, or without a score in level 2, are left out: the published sample has complete
    features. Of several treatments at level 2 and 2A the first counts. A preference is "switch" if only switching is
    acceptable, else "augment or none".

    Parameters
    ----------
    switch2, augment2
        The columns of ``ivra01`` that say whether switching and augmenting are acceptable at level 3; their names are
        not public.
    elsewhere
        Treatments of other levels, which are passed over; any other unknown treatment is an error.
    """
    visits = _visits(_release(Path(folder) / "qids01.txt", ["subjectkey", "days_baseline", "level", "version_form"]))
    flags = [*FLAGS[0], *FLAGS[1], *switch2, *augment2]
    assigned = _release(Path(folder) / "ivra01.txt", ["subjectkey", "txassign", *flags])
    arms = _arms(assigned, elsewhere)
    rows = arms.join(_scores(visits))
    rows["preference1"] = _preferences(assigned, *FLAGS)
    rows["preference2"] = _preferences(assigned, switch2, augment2)
    complete = rows[["A1", "qids_start1", "qids_slope1", "qids_end1", "qids_slope2"]].notna().all(axis=1)
    table = stard_table(_in_stages(rows[complete]).rename_axis("unit").reset_index(), where=str(folder))
    print(stard_counts(table).to_string(), file=sys.stderr)
    return table


def _release(file: Path, needed: Sequence[str]) -> pd.DataFrame:
    """Read a file of the release as texts; its second line describes the columns."""
    rows = read_file(file, "\t", remedy="give the folder of the raw release").iloc[1:].reset_index(drop=True)
    if missing := [column for column in needed if column not in rows]:
        raise DesignError(f"{file}: the columns {missing} are missing; found are {list(rows)}")
    return rows.apply(lambda column: column.str.strip())


def _numbers(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns as numbers, NaN where blank or 999."""
    if missing := [column for column in columns if column not in rows]:
        raise DesignError(f"qids01: the columns {missing} are missing; found are {list(rows)}")
    numbers = rows[list(columns)].apply(lambda column: pd.to_numeric(column, errors="coerce"))
    return numbers.where(numbers != MISSING)


def _visits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the clinician's scores of the stages, by patient and day; a day in two levels belongs to the earlier."""
    rows = rows[(rows["version_form"] == "Clinician") & rows["level"].isin(STAGES)]
    worst = [_numbers(rows, items).max(axis=1) for items in (SLEEP, APPETITE, SPEED)]
    visits = pd.DataFrame({"unit": rows["subjectkey"], "day": _numbers(rows, ["days_baseline"])["days_baseline"]})
    visits["stage"] = rows["level"].map(STAGES)
    visits["score"] = sum(worst) + _numbers(rows, SINGLE).sum(axis=1, skipna=False)
    visits = visits.dropna().sort_values(["unit", "day", "stage"], kind="stable")
    return visits.drop_duplicates(["unit", "day"])


def _scores(visits: pd.DataFrame) -> pd.DataFrame:
    """Return the scores and slopes of each patient."""
    first, last = (
        getattr(visits.groupby(["unit", "stage"])[["day", "score"]], which)().unstack() for which in ("first", "last")
    )
    first, last = (
        ends.reindex(columns=pd.MultiIndex.from_product([["day", "score"], range(3)])) for ends in (first, last)
    )
    return pd.DataFrame(
        {
            "qids_start1": last["score", 0],
            "qids_slope1": _slope(last["score", 0] - first["score", 0], last["day", 0] - first["day", 0]),
            "qids_end1": last["score", 1],
            "qids_slope2": _slope(last["score", 1] - last["score", 0], last["day", 1] - last["day", 0]),
            "qids_start2": first["score", 2],
            "qids_end2": last["score", 2],
        }
    )


def _slope(change: pd.Series, days: pd.Series) -> pd.Series:
    return (change / days * 7).where(days > 0)


def _arms(assigned: pd.DataFrame, elsewhere: Collection[str]) -> pd.DataFrame:
    """Return the first treatment of each patient at each stage, as ±1."""
    given = [frozenset(each.upper().replace(" ", "").split("+")) for each in assigned["txassign"]]
    others = [frozenset(each.upper().split("+")) for each in elsewhere] + [frozenset({""})]
    if unknown := sorted({"+".join(sorted(each)) for each in given if each not in [*FIRST, *SECOND, *others]}):
        raise ObservationError(
            f"ivra01: unknown txassign {unknown}; known are {['+'.join(sorted(each)) for each in [*FIRST, *SECOND]]}; "
            "treatments of other levels can be named in elsewhere="
        )
    sign = pd.Series([1 if each & set(SSRIS) else -1 for each in given], index=assigned.index)
    arms = {
        column: sign[[each in stage for each in given]].groupby(assigned["subjectkey"]).first()
        for column, stage in (("A1", FIRST), ("A2", SECOND))
    }
    return pd.DataFrame(arms)


def _preferences(assigned: pd.DataFrame, switch: Sequence[str], augment: Sequence[str]) -> pd.Series:
    """Return −1 (switch) where only switching is acceptable, else 1."""
    flags = assigned[[*switch, *augment]].replace({"": "0", str(MISSING): "0"})
    for column in flags:
        if odd := sorted(set(flags[column]) - {"0", "1"}):
            raise ObservationError(f"ivra01: {column} must be 1 (acceptable), 0 or blank, found {odd}")
    yes = (flags == "1").groupby(assigned["subjectkey"]).any()
    only_switch = yes[list(switch)].any(axis=1) & ~yes[list(augment)].any(axis=1)
    return pd.Series(np.where(only_switch, -1, 1), index=yes.index)


def _in_stages(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, with stage 2 blank for patients in remission and for those who dropped out before its end."""
    second = ["A2", "qids_start2", "qids_end2", "preference2"]
    entered = (rows["qids_end1"] > REMISSION) & rows[second].notna().all(axis=1)
    rows = rows.copy()
    rows[second] = rows[second].where(entered)
    return rows
