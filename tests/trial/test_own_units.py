"""A site acts on its own units, whoever asks for it."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.trial import Ask, Taken
from dtrbandit.trial.own_units import require_site
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


def test_a_site_acts_on_its_own_units_and_on_unknown_ones_as_anybody() -> None:
    trial = begun("memory://")

    first, again, elsewhere, wrong, unknown = trial.take(
        [
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="north"), site="north"),
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="north"), site="north"),
            Ask(dtr.Enroll("u1", {"x": 0.5}, site="south"), site="south"),
            Ask(dtr.Enroll("u2", {"x": 0.5}, site="south"), site="north"),
            Ask(dtr.Complete("u9", 1.0), site="north"),
        ]
    )

    assert isinstance(first, Taken)
    assert isinstance(again, Taken)
    assert again.repeated
    assert type(elsewhere) is dtr.ProtocolError
    assert isinstance(wrong, dtr.NotAllowed)
    assert isinstance(unknown, dtr.NotFound)


def test_what_is_about_the_trial_is_not_for_a_site() -> None:
    trial = begun("memory://")

    for command in (dtr.Hold("why"), dtr.Release("why"), dtr.CloseArm("first", "a", "why"), dtr.End("why")):
        (answer,) = trial.take([Ask(command, site="north")])
        assert isinstance(answer, dtr.NotAllowed)
    assert trial.head.sequence == 1


def test_who_is_for_all_sites_may_look_at_every_unit() -> None:
    for found in ("north", None):
        require_site("u1", found, None)
    for found in ("south", None):
        with pytest.raises(dtr.NotAllowed, match="'u1' is not one of site 'north'"):
            require_site("u1", found, "north")


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
