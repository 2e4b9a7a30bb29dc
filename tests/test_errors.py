"""The errors: one class for each reaction, all under one base, drawn where they are defined."""

from __future__ import annotations

import re

import pytest

import dtrbandit as dtr
from dtrbandit import errors

CLASSES = [each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_is_one_of_ours(error: type[Exception]) -> None:
    assert issubclass(error, dtr.DTRError)
    assert getattr(dtr, error.__name__) is error


@pytest.mark.parametrize("error", [dtr.DesignError, dtr.ObservationError])
def test_a_wrong_value_is_a_value_error_too(error: type[Exception]) -> None:
    assert issubclass(error, ValueError)


def test_the_drawing_of_the_errors_has_them_all() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))

    assert drawn == {each.__name__ for each in CLASSES} - {"DTRError"} | {"StudyError"}
    assert issubclass(dtr.StudyError, dtr.DTRError)


def test_no_reaction_is_a_case_of_another_except_what_cannot_happen_now() -> None:
    leaves = [each for each in CLASSES if each is not dtr.DTRError]

    cases = [(one, other) for one in leaves for other in leaves if one is not other and issubclass(one, other)]

    special = [dtr.NotFound, dtr.OtherLog]  # who catches the general one means these too
    assert cases == [(each, dtr.ProtocolError) for each in special]
