"""Contraindications: said at enrolment or response, for that stage and later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record.codec import encode
from dtrbandit.record.events import Enrolled, Responded
from record.before_guardrails import POLICIES, play
from record.plain_log import plain_text
from small_session import DESIGN
from stored_fixtures import of_this_release

LOGS = Path(__file__).parent / "logs"
ALLERGY: dict[str, Any] = {"exclude": {"second": ["other"]}, "reason": "allergy"}


def session(policy: Any = None) -> dtr.Session:
    return dtr.Session(DESIGN, policy or dtr.UniformRandom())


def test_a_contraindicated_arm_is_never_given_nor_one_after_which_nothing_is_left() -> None:
    told = session()

    first = told.enroll("u1", {"start1": 1.0}, **ALLERGY)  # after other comes only other
    second = told.respond("u1", {"start2": 1.0, "end1": 9.0})

    assert (first.arm, first.reason, first.propensity) == ("ssri", "only_feasible", 1.0)
    assert first.infeasible == (("other", "no arm is left after it"),)
    assert second is not None
    assert (second.arm, second.contenders) == ("ssri", ("ssri",))
    assert "Not feasible: other (contraindicated)." in str(second)


def test_what_is_said_at_a_response_adds_to_what_was_said_before() -> None:
    stages = [dtr.Stage(name, ("a", "b", "c"), f"1 + c{name}") for name in ("x", "y", "z")]
    told = dtr.Session(dtr.Design(stages), dtr.UniformRandom())

    told.enroll("u1", {"cx": 1.0}, exclude={"z": ("c",)}, reason="allergy")
    told.respond("u1", {"cy": 1.0}, exclude={"y": {"a", "b"}, "z": ["a"]}, reason="the liver")
    third = told.respond("u1", {"cz": 1.0})

    assert told.log[-3].decision.arm == "c"  # type: ignore[union-attr]
    assert third is not None
    assert (third.arm, [arm for arm, _ in third.infeasible]) == ("b", ["a", "c"])
    assert told.log[3] == Responded("u1", "y", {"cy": 1.0}, {"y": ("a", "b"), "z": ("a",)}, "the liver")


def test_the_log_holds_what_was_excluded_and_leaves_out_what_was_not() -> None:
    told = session()
    told.enroll("u1", {"start1": 1.0}, **ALLERGY)
    told.enroll("u2", {"start1": 1.0}, exclude={"first": []})

    assert told.log[1] == Enrolled("u1", 1, {"start1": 1.0}, {"second": ("other",)}, "allergy")
    assert encode(told.log[1]) == (
        '{"context":{"start1":1.0},"event":"Enrolled","exclude":{"second":["other"]},"format":2,"reason":"allergy",'
        '"round":1,"unit":"u1"}'
    )
    assert '"infeasible":[["other","no arm is left after it"]]' in encode(told.log[2])
    assert encode(told.log[3]) == '{"context":{"start1":1.0},"event":"Enrolled","round":2,"unit":"u2"}'


@pytest.mark.parametrize("name", POLICIES)
def test_a_log_without_guardrails_keeps_the_bytes_of_the_release_before_them(name: str) -> None:
    file = LOGS / f"{name}.jsonl"

    log = play(POLICIES[name]).log

    assert plain_text(log) == file.read_text().replace('"numerics":2', f'"numerics":{dtr.NUMERICS}')
    dtr.verify(of_this_release(dtr.read_log(file)))


def test_the_same_again_is_a_repetition_and_anything_else_is_refused() -> None:
    told = session()
    decision = told.enroll("u1", {"start1": 1.0}, **ALLERGY)

    assert told.enroll("u1", {"start1": 1.0}, exclude={"second": ("other", "other")}, reason="allergy") == decision
    assert told.version == 3
    for other in ({}, {**ALLERGY, "reason": "another"}, {**ALLERGY, "exclude": {"second": ["ssri"]}}):
        with pytest.raises(dtr.ProtocolError, match="on record for this stage are the exclusions"):
            told.enroll("u1", {"start1": 1.0}, **other)
    told.respond("u1", {"start2": 1.0, "end1": 9.0})
    with pytest.raises(dtr.ProtocolError, match="exclusions none, found"):
        told.respond("u1", {"start2": 1.0, "end1": 9.0}, **ALLERGY)
    assert told.version == 5


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"exclude": {"second": ["other"]}}, dtr.ObservationError, "a reason must be a text"),
        ({"reason": "allergy"}, dtr.ProtocolError, "a reason goes with exclude="),
        ({"exclude": {"first": []}, "reason": "none"}, dtr.ProtocolError, "nothing is excluded"),
        ({"exclude": {"third": ["other"]}, "reason": "r"}, dtr.ProtocolError, r"stages are \['first', 'second'\]"),
        ({"exclude": {"first": ["x"]}, "reason": "r"}, dtr.ProtocolError, r"arms are \['ssri', 'other'\]"),
        ({"exclude": {"first": "ssri"}, "reason": "r"}, dtr.ObservationError, "must be a list of arms"),
        ({"exclude": {"first": 3}, "reason": "r"}, dtr.ObservationError, "must be a list of arms"),
        ({"exclude": ["ssri"], "reason": "r"}, dtr.ObservationError, "must be a mapping such as"),
        ({"exclude": {"second": ["ssri", "other"]}, "reason": "r"}, dtr.ProtocolError, "cannot take part"),
        ({"exclude": {"first": ["ssri"], "second": ["other"]}, "reason": "r"}, dtr.ProtocolError, "no arm is left"),
    ],
)
def test_bad_exclusions_change_nothing(more: dict[str, Any], error: type[Exception], words: str) -> None:
    told = session()

    with pytest.raises(error, match=words):
        told.enroll("u1", {"start1": 1.0}, **more)

    assert told.version == 1
    assert told.enroll("u1", {"start1": 1.0}).round == 1


def test_a_response_cannot_exclude_an_arm_of_a_stage_that_is_decided_nor_all_that_is_left() -> None:
    told = session()
    told.enroll("u1", {"start1": 1.0})

    with pytest.raises(dtr.ProtocolError, match=r"'first' is decided already, and exclude= is about \['second'\]"):
        told.respond("u1", {"start2": 1.0, "end1": 9.0}, exclude={"first": ["ssri"]}, reason="r")
    everything = {"exclude": {"second": ["ssri", "other"]}, "reason": "r"}
    with pytest.raises(dtr.ProtocolError, match="withdraw it"):
        told.respond("u1", {"start2": 1.0, "end1": 9.0}, **everything)  # type: ignore[arg-type]

    assert told.version == 3
    assert told.respond("u1", {"end1": 1.0}, **everything) is None  # type: ignore[arg-type]  # it leaves, and needs none


def test_an_override_to_an_excluded_arm_is_what_was_given_and_where_nothing_is_left_the_unit_withdraws() -> None:
    told = session(dtr.DTRBandit(q=1, delta=0.5))
    told.enroll("u1", {"start1": 1.0}, **ALLERGY)

    told.override("u1", "other", reason="given by mistake")  # only other can follow, which is contraindicated
    with pytest.raises(dtr.ProtocolError, match=r"no arm is left at stage 'second': other \(contraindicated\)"):
        told.respond("u1", {"start2": 1.0, "end1": 9.0})
    told.withdraw("u1", reason="nothing can be given")

    dtr.verify(told.log)
    assert told.summary().status["with contraindications"] == 1


def test_a_late_override_to_where_nothing_is_left_breaks_no_estimate() -> None:
    for policy in (dtr.DTRBandit(q=1, delta=0.5), dtr.LSVIUCB(beta=1.0), dtr.Greedy()):
        told = session(policy)
        told.enroll("u1", {"start1": 1.0}, exclude={"second": ["ssri"]}, reason="allergy")
        if told.log[2].decision.arm == "ssri":  # type: ignore[union-attr]
            told.respond("u1", {"start2": 1.0, "end1": 9.0})
            told.override("u1", "other", stage="first", reason="mistaken")
        told.complete("u1", 2.0)
        told.enroll("u2", {"start1": 0.5})

        dtr.verify(told.log)
        assert all(each.hat is None or abs(each.hat) < 10 for each in told.coefficients())


def test_a_policy_of_ones_own_sees_the_units_own_feasible_arms() -> None:
    seen: list[Any] = []

    class Watching:
        def init(self, design: dtr.Design) -> dtr.Design:
            return design

        def update(self, state: Any, history: Any, event: Any) -> Any:  # noqa: ARG002
            return state

        def decide(self, state: Any, history: Any, u: float) -> Any:  # noqa: ARG002
            seen.append((history.node, history.feasible, history.excluded))
            arm = history.feasible.index(True)
            return Choice(arm, "first", tuple(float(a == arm) for a in range(2)))

    told = session(Watching())
    told.enroll("u1", {"start1": 1.0})
    told.respond("u1", {"start2": 1.0, "end1": 9.0}, exclude={"second": ["ssri"]}, reason="allergy")

    assert seen == [(0, (True, True), ()), (1, (False, True), ((), ((1, 0),)))]
