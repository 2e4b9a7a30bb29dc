"""Frames from anywhere: the same cells, read the same way; and what is no frame."""

from __future__ import annotations

import gzip
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.frames import (
    NO_ARM,
    UNKNOWN_ARM,
    LeftOut,
    arm_numbers,
    infinite,
    numbers,
    require_missing,
    texts,
)
from dtrbandit.policies.policy import feasible_arms
from evaluation.small_frame import FRAME, read
from extras import needed


def test_ids_of_many_digits_are_kept_to_the_last() -> None:
    ids = [2**53 + k for k in range(5)]

    assert read(FRAME.assign(id=ids)).units == tuple(map(str, ids))


@pytest.mark.parametrize("blank", [None, math.nan])
def test_what_blanks_mean_is_said_once_for_all_of_them(blank: object) -> None:
    design = dtr.Design([dtr.Stage("only", ("drug", "none"), "1")])
    frame = pd.DataFrame({"A": ["drug", None, "NA", "."], "Y": [1, 2, 3, 4]})

    cohort = Cohort.from_frame(frame, design, arms=["A"], outcome="Y", recode={"A": {blank: "none"}})

    assert cohort.arms[:, 0].tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("cells", [[1, 0, 1], [1.0, 0.0, 1.0], ["1", "0", " 1 "], ["1.0", "0.0", "1"]])
def test_numbers_that_read_like_labels_need_no_recoding(cells: list[object]) -> None:
    design = dtr.Design([dtr.Stage("only", ("0", "1"), "1")])

    cohort = Cohort.from_frame(pd.DataFrame({"A": cells, "Y": [1, 2, 3]}), design, arms=["A"], outcome="Y")

    assert cohort.arms[:, 0].tolist() == [1, 0, 1]


def test_labels_are_read_beside_recoded_cells_and_none_means_no_arm() -> None:
    frame = FRAME.assign(A1=["ssri", 1, "other", "ssri", "other"], A2=[-1, 0, 0, 0, 0])

    cohort = read(frame, recode={"A1": {1: "ssri"}, "A2": {-1: "other", 0: None}})

    np.testing.assert_array_equal(cohort.arms, read(FRAME).arms)


def test_an_arm_may_be_called_what_others_write_for_a_blank(tmp_path: Path) -> None:
    design = dtr.Design([dtr.Stage("only", ("None", "NA"), "1 + x")])
    (tmp_path / "trial.csv").write_text("x,A,Y\n1,None,2\n2,NA,NA\n")

    cohort = Cohort.from_frame(tmp_path / "trial.csv", design, arms=["A"], outcome="Y")

    assert cohort.arms[:, 0].tolist() == [0, 1]
    assert cohort.dropped_out.tolist() == [False, True]


def csv(folder: Path) -> str:
    FRAME.to_csv(folder / "trial.csv", index=False)
    return str(folder / "trial.csv")


def csv_of_r(folder: Path) -> Path:
    FRAME.to_csv(folder / "trial.csv", index=False, na_rep="NA", quoting=2, encoding="utf-8-sig", lineterminator="\r\n")
    return folder / "trial.csv"


def zipped_tabs(folder: Path) -> Path:
    (folder / "trial.tsv.gz").write_bytes(gzip.compress(FRAME.to_csv(sep="\t", index=False).encode()))
    return folder / "trial.tsv.gz"


def parquet(folder: Path) -> Path:
    FRAME.set_index("id").to_parquet(folder / "trial.parquet")  # pandas keeps the index as a column of its own
    return folder / "trial.parquet"


SOURCES: dict[str, Callable[[Path], object]] = {
    "pandas": lambda _: FRAME,
    "pandas with types that know blanks": lambda _: FRAME.convert_dtypes(),
    "pandas with categories": lambda _: FRAME.astype({"A1": "category", "A2": "category"}),
    "pandas objects": lambda _: FRAME.astype(object),
    "pandas with an index": lambda _: FRAME.set_axis([9, 9, 1, 2, 0]),
    "arrow": lambda _: pa.Table.from_pandas(FRAME),
    "arrow reader": lambda _: pa.Table.from_pandas(FRAME).to_reader(),
    "polars": lambda _: needed("polars").DataFrame(FRAME.to_dict("list")),
    "csv": csv,
    "csv as R writes it": csv_of_r,
    "zipped tabs": zipped_tabs,
    "parquet": parquet,
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_cohort(source: str, tmp_path: Path) -> None:
    found, expected = read(SOURCES[source](tmp_path), weights="w"), read(FRAME, weights="w")

    assert found.units == expected.units
    np.testing.assert_array_equal(found.arms, expected.arms)
    np.testing.assert_array_equal(found.outcome, expected.outcome)
    np.testing.assert_array_equal(found.weights, expected.weights)
    for one, other in zip(found.contexts, expected.contexts, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_reading_leaves_the_frame_as_it_was() -> None:
    frame = FRAME.copy()

    read(frame)

    pd.testing.assert_frame_equal(frame, FRAME)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"x": [1]}, r"found \{'x': \[1\]\} \(dict\)"),
        (None, "found None"),
        ("absent.csv", "cannot read absent.csv: .*No such file"),
        ("absent.parquet", "cannot read absent.parquet: .*; give a path to a whole file"),
        ("trial.xlsx", r"expected a name in \.csv, \.tsv, \.txt, \.parquet, \.pq"),
        (pa.array([1, 2]), r"\(Int64Array\)"),
        (pa.chunked_array([[1, 2]]), "ChunkedArray"),
    ],
)
def test_what_is_no_frame_is_refused(source: object, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        read(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "cannot read"),
        (b" \n\n", "cannot read .*it is empty, where the first line must name the columns"),
        (b"id,start1\n1,2,3,4\n", "cannot read .*as many cells as the header, 2; line 2 has 4 .lines count"),
        (b'id,start1\n1,2\n2,"3\n3,4\n', "cannot read .*unexpected end of data"),
        (b"id,start1\n\xff,2\n", "cannot read .*text in UTF-8"),
        (b"id;start1;A1\n1;2;3\n", r"the frame lacks .*it has \['id;start1;A1'\]"),
        (b"id,id,start1,A1,end1,start2,A2,Y\n1,1,2,3,4,5,6,7\n", r"more than one column \['id'\]"),
        (b"id,start1,A1,end1,start2,A2,Y\n", "the frame has no rows"),
    ],
)
def test_a_damaged_file_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "trial.csv").write_bytes(text)

    with pytest.raises(DesignError, match=message):
        read(tmp_path / "trial.csv")


HEADER = "id,start1,A1,end1,start2,A2,Y"
WHOLE = "u1,12,1,8,8.5,-1,-9"


def test_a_line_that_is_cut_off_is_refused_and_no_drop_out(tmp_path: Path) -> None:
    file = tmp_path / "trial.csv"
    file.write_text(f"{HEADER}\n{WHOLE}\nu2,13,1,7,,,\n")
    assert read(file).dropped_out.tolist() == [False, True]

    file.write_text(f"{HEADER}\n{WHOLE}\nu2,13,1,7\n")

    with pytest.raises(
        DesignError, match=r"header, 7; line 3 has 4 \(lines .*cells of a drop-out are blank, not absent: add them"
    ):
        read(file)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    """Empty lines are passed over, and a cell in quotes may hold several lines; both count."""
    file = tmp_path / "trial.csv"
    file.write_text(f'{HEADER},note\n\n{WHOLE},"one\ntwo"\n  \nu2,13\n{WHOLE},fine\n{WHOLE},too,much\n')

    with pytest.raises(DesignError, match=r"header, 8; line 6 has 2, line 8 has 9 \("):
        read(file)


def test_of_many_damaged_lines_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    (tmp_path / "trial.tsv").write_text("\n".join([HEADER.replace(",", "\t"), *["u1\t12"] * 1206]))

    with pytest.raises(DesignError, match=r"line 2 has 2, .*, line 6 has 2, and so on in 1,201 more lines"):
        read(tmp_path / "trial.tsv")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system_and_the_last_not_at_all(ending: str, tmp_path: Path) -> None:
    (tmp_path / "trial.csv").write_bytes(f"{HEADER}{ending}{WHOLE}{ending}{ending}u2,13,1,3,,,-3".encode())

    cohort = read(tmp_path / "trial.csv")

    assert cohort.units == ("u1", "u2")
    assert cohort.outcome.tolist() == [-9.0, -3.0]


def test_a_zipped_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(f"{HEADER}\n{WHOLE}\n".encode())
    (tmp_path / "trial.csv.gz").write_bytes(whole[:-12])

    with pytest.raises(DesignError, match="cannot read"):
        read(tmp_path / "trial.csv.gz")


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trial.parquet").write_bytes(b"PAR1 and more")

    with pytest.raises(DesignError, match="cannot read"):
        read(tmp_path / "trial.parquet")


def test_cells_become_numbers_blanks_are_nan_and_the_rest_is_refused() -> None:
    cells = pd.Series([1, " 2.5 ", None, "NA", ".", "high", True, 1e101, "1_000"], dtype=object)

    values, refused = numbers(cells)

    np.testing.assert_array_equal(values, [1.0, 2.5, *[np.nan] * 7])
    assert refused.tolist() == [False] * 5 + [True] * 4


def test_infinite_numbers_are_told_from_what_is_no_number() -> None:
    cells = pd.Series([1, "inf", -math.inf, None, "high", True, 1e101, "nan"], dtype=object)

    assert infinite(cells).tolist() == [False, True, True, False, False, False, False, False]
    assert infinite(pd.Series([1.0, math.nan, math.inf])).tolist() == [False, False, True]


def test_whole_numbers_are_texts_without_a_point() -> None:
    assert texts(pd.Series([1.0, None, 2.5, " a ", 2**60], dtype=object)) == ["1", "", "2.5", "a", str(2**60)]


def test_cells_become_arms_no_arm_or_none_that_is_known() -> None:
    stage = dtr.Stage("only", ("ssri", "other"), "1")
    cells = pd.Series(["ssri", "1", 1.0, "", "NA", "0", "x"], dtype=object)

    found = arm_numbers(cells, stage, {1: "other", 0: None})

    assert found.tolist() == [0, 1, 1, NO_ARM, NO_ARM, NO_ARM, UNKNOWN_ARM]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"arms": ["A1"]}, r"arms must list one column for each of the stages \['first', 'second'\], found \['A1'\]"),
        ({"arms": "A1"}, "arms must list one column .*found 'A1'"),
        ({"arms": ["A1", "A1"], "recode": None}, r"arms must name a column for each stage, found \['A1', 'A1'\]"),
        ({"outcome": "y"}, r"the frame lacks \['y'\]; it has \['id', 'start1', .*'w'\]; did you mean 'Y' for 'y'\?"),
        ({"outcome": "Outcome"}, r"the frame lacks \['Outcome'\]; it has \[.*'w'\]$"),
        ({"outcome": "start2"}, "outcome='start2' is also a column of the design, of arms or of weights"),
        ({"outcome": "A2"}, "outcome='A2' is also a column of the design, of arms or of weights"),
        ({"outcome": "w", "weights": "w"}, "outcome='w' is also a column of the design, of arms or of weights"),
        ({"outcome": ["Y"]}, r"columns are called by a text, found \[\['Y'\]\]"),
        ({"arms": ["A1", 2], "unit": 0}, r"columns are called by a text, found \[2, 0\]"),
        ({"unit": "unit", "weights": "weight"}, r"the frame lacks \['unit', 'weight'\]"),
        ({"recode": {"A3": {1: "ssri"}}}, r"recode is for the columns of arms, \['A1', 'A2'\], found 'A3'"),
        ({"recode": {"A1": {1: "SSRI"}}}, r"recode\['A1'\] must lead to \['ssri', 'other'\].*found \['SSRI'\]"),
        ({"recode": {"A1": ["ssri"]}}, r"recode\['A1'\] must map cells to arms, found \['ssri'\]"),
        ({"recode": "A1"}, "recode must map columns of arms"),
    ],
)
def test_roles_that_do_not_fit_are_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        read(FRAME, **other)


def test_all_roles_that_do_not_fit_are_told_at_once() -> None:
    with pytest.raises(DesignError, match=r"recode is for .*; the frame lacks \['start1', 'y', 'unit'\]; it has"):
        read(FRAME.drop(columns="start1"), outcome="y", unit="unit", recode={"x": {}})


def test_a_column_that_is_there_twice_is_refused() -> None:
    with pytest.raises(DesignError, match=r"more than one column \['Y'\]"):
        read(pd.concat([FRAME, FRAME[["Y", "w"]]], axis=1))


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(DesignError, match="the frame has no rows"):
        read(FRAME.iloc[:0])


DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b", "c"), "1 + z")],
    plans=[tuple(plan) for plan in ("aa", "ab", "ac", "bb", "bc")],
)
EXCLUDE = {"first": {"b": "no_b"}, "second": {"a": "no_second_a", "c": "no_second_c"}}


def frame(n: int = 60) -> pd.DataFrame:
    """Return units that were given, at random, what they could have."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(n):
        no = dict(zip(("no_b", "no_second_a", "no_second_c"), (rng.random(3) < 0.3).astype(int).tolist(), strict=True))
        plans = [
            plan
            for plan in ("aa", "ab", "ac", "bb", "bc")
            if not (no["no_b"] and plan[0] == "b")
            and not (no["no_second_a"] and plan[1] == "a")
            and not (no["no_second_c"] and plan[1] == "c")
        ]
        plan, (x, z, y) = plans[rng.integers(len(plans))], rng.normal(size=3).round(3)
        rows.append({"x": x, "z": z, "A1": plan[0], "A2": plan[1], "Y": y + 2 * z * (plan[1] == "c"), **no})
    return pd.DataFrame(rows)


def cohort(data: pd.DataFrame | None = None, **more: Any) -> Cohort:
    data = frame() if data is None else data
    return Cohort.from_frame(data, DESIGN, arms=["A1", "A2"], outcome="Y", **({"exclude": EXCLUDE} | more))


def test_a_unit_can_have_what_its_columns_leave() -> None:
    data, found = frame(), cohort()

    for i, row in enumerate(data.to_dict("records")):
        second = {"a", "b", "c"} if row["A1"] == "a" else {"b", "c"}
        second -= {arm for arm in "ac" if row[f"no_second_{arm}"]}
        assert {arm for arm, yes in zip("abc", found.feasible[1][i], strict=True) if yes} == second
        assert bool(found.feasible[0][i, 1]) == (not row["no_b"])
        assert found.barred[i] == tuple(
            pair
            for pair, column in (((0, 1), "no_b"), ((1, 0), "no_second_a"), ((1, 2), "no_second_c"))
            if row[column] and not (pair == (1, 0) and row["A1"] == "b")
        )
    assert cohort(exclude=None).excluded is None


def test_q_learning_takes_its_maximum_over_what_a_unit_could_have() -> None:
    fit = dtr.QLearning(DESIGN).fit(cohort())
    data, second = cohort(), fit.coefficients_[1]

    q = np.where(data.feasible[1], data.features[1] @ second.T, -np.inf).max(axis=1)

    for arm in range(2):
        own = data.arms[:, 0] == arm
        expected = np.linalg.lstsq(data.features[0][own], q[own], rcond=None)[0]
        assert fit.coefficients_[0][arm] == pytest.approx(expected)
    assert not np.allclose(fit.coefficients_[0], dtr.QLearning(DESIGN).fit(cohort(exclude=None)).coefficients_[0])


def test_some_units_keep_theirs_and_a_blank_arm_is_the_only_one_left() -> None:
    data = frame()
    only = data.index[(data["A1"] == "b") & (data["no_second_c"] == 1)]
    assert len(only)
    data.loc[only, "A2"] = None

    found = cohort(data)

    assert (found.arms[only, 1] == 1).all()
    some = found.of(np.arange(60) % 2 == 0)
    assert some.excluded is not None
    assert found.excluded is not None
    assert np.array_equal(some.excluded[1], found.excluded[1][::2])


@pytest.mark.parametrize(
    ("exclude", "words"),
    [
        ({"third": {"a": "no_b"}}, r"stage 'third'; the stages are \['first', 'second'\]"),
        ({"first": {"c": "no_b"}}, r"arm 'c' of stage 'first'; its arms are \['a', 'b'\]"),
        ({"first": {"b": "nothing"}}, "lacks"),
        ({"first": ["no_b"]}, "exclude must map stages to arms to columns"),
        ({"first": {"b": 3}}, "called by a text"),
    ],
)
def test_exclusions_that_do_not_fit_are_refused(exclude: Any, words: str) -> None:
    with pytest.raises(dtr.DesignError, match=words):
        cohort(exclude=exclude)


def test_cells_must_say_yes_or_no_and_nobody_has_what_was_contraindicated() -> None:
    data = frame().astype({"no_b": object})
    data.loc[3, "no_b"] = None
    data.loc[5, "no_b"] = 2
    with pytest.raises(dtr.ObservationError, match=r"'no_b' must say by 0 or 1 .*: rows 4, 6"):
        cohort(data)
    data = frame()
    data.loc[7, ["A1", "no_b"]] = ["b", 1]
    with pytest.raises(dtr.ObservationError, match=r"'A1' has an arm that is contraindicated .*: row 8"):
        cohort(data)
    data = frame()
    with pytest.raises(dtr.ObservationError, match="leaves no plan of the design"):
        cohort(data.assign(none=1), exclude={"first": {"a": "none", "b": "none"}})


def test_booleans_are_yes_and_no() -> None:
    found = cohort(frame().astype({"no_b": bool}))

    assert found.excluded is not None
    assert np.array_equal(found.excluded[0], cohort().excluded[0])  # type: ignore[index]


def logged(policy: Any) -> dtr.Session:
    """Return a session that was told what the frame holds, and closes an arm at the end."""
    session = dtr.Session(DESIGN, policy, seed=2)
    for i, row in enumerate(frame().to_dict("records")):
        exclude = {"first": ["b"] * row["no_b"], "second": ["a"] * row["no_second_a"] + ["c"] * row["no_second_c"]}
        more: Any = {"exclude": exclude, "reason": "allergy"} if any(exclude.values()) else {}
        if i == 45:
            session.close_arm("second", "c", reason="harm")
        session.enroll(str(i + 1), {"x": row["x"]}, **more)
        session.respond(str(i + 1), {"z": row["z"]})
        session.complete(str(i + 1), row["Y"])
    return session


def test_a_log_carries_what_units_could_not_have() -> None:
    log = logged(dtr.UniformRandom()).log

    found = Cohort.from_log(log)

    decisions = [event.decision for event in log if isinstance(event, dtr.record.Assigned)]
    for decision in decisions:
        m, i = DESIGN.stage_number(decision.stage), int(decision.unit) - 1
        left = {DESIGN.stages[m].arms[arm] for arm in np.flatnonzero(found.feasible[m][i])}
        assert left == set(decision.contenders)
        assert decision.propensity == pytest.approx(1 / len(left))
    assert found.origin is not None
    assert found.origin.recorded is not None
    assert np.array_equal(found.origin.recorded.feasible[1], found.feasible[1])


@pytest.mark.parametrize("policy", [dtr.UniformRandom(), dtr.Greedy(), dtr.DTRBandit(q=1, delta=0.5)], ids=repr)
def test_a_replay_restricts_the_policy_to_what_each_row_could_have_in_both_players(policy: Any) -> None:
    seen: list[bool] = []

    class Own:
        """The same policy, through Python."""

        def init(self, design: dtr.Design) -> Any:
            return policy.init(design)

        def update(self, state: Any, history: Any, event: Any) -> Any:
            return policy.update(state, history, event)

        def decide(self, state: Any, history: Any, u: float) -> Any:
            choice = policy.decide(state, history, u)
            seen.append(choice.arm in feasible_arms(history))
            return choice

    compiled = dtr.replay(policy, cohort(), horizon=15, paths=2, seed=1)
    through_python = dtr.replay(Own(), cohort(), horizon=15, paths=2, seed=1)

    assert np.array_equal(compiled.rows, through_python.rows)
    assert all(seen)


def test_units_and_what_they_lack_are_said() -> None:
    one = LeftOut(("u7",), {"age": 1})

    assert len(one) == 1
    assert str(one).splitlines() == [
        "Left out, because a covariate is blank that a stage of theirs needs:",
        "       1  unit",
        "         1  without 'age'",
    ]


def test_nobody_is_left_out_unless_said() -> None:
    nobody = LeftOut()

    assert not nobody
    assert dict(nobody.columns) == {}
    assert str(nobody) == "Left out: nobody."


@pytest.mark.parametrize("left_out", [LeftOut(), LeftOut(("u7",), {"age": 1})])
def test_it_travels_with_a_cohort_to_other_processes(left_out: LeftOut) -> None:
    assert pickle.loads(pickle.dumps(left_out)) == left_out


@pytest.mark.parametrize("missing", ["impute", "", None, True, ["drop"]])
def test_there_are_two_ways_to_go_about_missing_values(missing: object) -> None:
    require_missing("refuse")
    require_missing("drop")

    with pytest.raises(DesignError, match=r"missing must be 'refuse', .* or 'drop', .*; found "):
        require_missing(missing)
