"""Units left out for a blank covariate: who they are, what they lack, and how that is said."""

from __future__ import annotations

import pickle

import pytest

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.left_out import LeftOut, require_missing


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
