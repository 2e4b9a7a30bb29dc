"""A site acts on its own units, whoever asks for it."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.trial import Ask, Taken
from trial.small_trial import begun

ABOUT = [
    dtr.Respond("u1", {"r": -1.0}),
    dtr.Complete("u1", 1.0),
    dtr.Withdraw("u1", "moved away"),
    dtr.Override("u1", "a", "allergy"),
    dtr.Correct("u1", "typo", stage="first", context={"x": 0.25}),
    dtr.Void("u1", "not eligible"),
    dtr.Unblind("u1", "an emergency"),
]


@pytest.mark.parametrize("command", ABOUT, ids=lambda command: type(command).__name__)
def test_a_unit_of_another_site_is_refused_and_nothing_is_recorded(command: Any) -> None:
    trial = begun("memory://")
    trial.enroll("u1", {"x": 0.5}, site="north")
    trial.enroll("nobody's", {"x": 0.5})
    before = trial.head

    answers = trial.take(
        [
            Ask(command, site="south"),
            Ask(command._replace(unit="nobody's"), site="south"),
            Ask(command, key="k", site="east"),
        ]
    )

    assert [type(answer) for answer in answers] == [dtr.NotAllowed] * 3
    assert "north" not in str(answers[0])
    assert trial.head == before


def test_a_site_acts_on_its_own_units_and_hears_alike_of_others_and_of_unknown_ones() -> None:
    trial = begun("memory://")

    trial.enroll("s1", {"x": 0.5}, site="south")

    first, again, elsewhere, wrong, unknown, others = trial.take(
        [
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="north"), site="north"),
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="north"), site="north"),
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="south"), site="south"),
            Ask(dtr.Enroll("u2", {"x": 0.5}, site="south"), site="north"),
            Ask(dtr.Complete("u9", 1.0), site="north"),
            Ask(dtr.Complete("s1", 1.0), site="north"),
        ]
    )

    assert isinstance(first, Taken)
    assert isinstance(again, Taken)
    assert again.repeated
    assert type(elsewhere) is dtr.ProtocolError
    assert isinstance(wrong, dtr.NotAllowed)
    assert isinstance(unknown, dtr.NotAllowed)
    assert isinstance(others, dtr.NotAllowed)
    assert str(unknown) == str(others).replace("s1", "u9")


def test_what_is_about_the_trial_is_not_for_a_site() -> None:
    trial = begun("memory://")

    for command in (dtr.Hold("why"), dtr.Release("why"), dtr.CloseArm("first", "a", "why"), dtr.End("why")):
        (answer,) = trial.take([Ask(command, site="north")])
        assert isinstance(answer, dtr.NotAllowed)
    assert trial.head.sequence == 1


def test_a_site_looks_at_its_own_units_alone() -> None:
    trial = begun("memory://")
    for unit, site in (("u1", "north"), ("u2", "south"), ("u3", None)):
        trial.enroll(unit, {"x": 0.5}, site=site)

    assert trial.unit("u1", site="north") == trial.unit("u1")
    assert [trial.unit(unit).site for unit in ("u1", "u2", "u3")] == ["north", "south", None]
    for unit in ("u2", "u3", "unknown"):
        with pytest.raises(dtr.NotAllowed, match=f"'{unit}' is not one of site 'north'; look at the id"):
            trial.unit(unit, site="north")
    with pytest.raises(dtr.NotFound):
        trial.unit("unknown")


def test_a_story_is_told_once_the_look_is_on_record() -> None:
    trial = begun("memory://")
    trial.enroll("u1", {"x": 0.5}, site="north", actor="nurse A")

    story = trial.unblind("u1", reason="an emergency", actor="nurse B")

    assert story.site == "north"
    assert story.decisions == trial.unit("u1").decisions
    assert (story.records[-1].actor, story.records[-1].event) == ("nurse B", dtr.record.Unblinded("u1", "an emergency"))
    assert "enrolled with x 0.5, at site north (nurse A)" in str(story)
    assert "unblinded (an emergency) (nurse B)" in str(story)
    assert trial.verify()


def test_units_are_listed_by_site() -> None:
    trial = begun("memory://")
    for unit, site in (("u1", "north"), ("u2", "south"), ("u3", None), ("u4", "north")):
        trial.enroll(unit, {"x": 0.5}, site=site)

    assert [unit.unit for unit in trial.units(site="north")] == ["u1", "u4"]
    assert [unit.site for unit in trial.units()] == ["north", "south", None, "north"]
    assert trial.units(site="east") == []
