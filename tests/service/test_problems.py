"""Refusals: one document for each reaction, and none that cannot be written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit import errors
from dtrbandit.service.problems import KINDS, OF_ERRORS, Busy, Refused, refusal
from dtrbandit.storage import connect


@pytest.mark.parametrize("kind", KINDS)
def test_a_problem_says_what_happened_and_what_to_do(kind: str) -> None:
    document = json.loads(Refused(kind, "found this").body())

    assert document["detail"] == "found this"
    assert document["status"] == KINDS[kind].status
    assert document["remedy"].endswith(".")
    assert document["type"] == f"urn:dtrbandit:problem:{kind}"


def test_every_error_of_the_package_has_its_status() -> None:
    reactions = {each for each in vars(errors).values() if isinstance(each, type)} - {dtr.DTRError}

    assert set(OF_ERRORS) == reactions
    assert refusal(errors.NotFound("no trial")).status == 404
    assert refusal(dtr.ProtocolError("again")).status == 409
    assert refusal(dtr.ObservationError("NaN")).status == 422


def test_what_can_be_tried_again_says_when() -> None:
    assert refusal(errors.Unavailable("disk full")).headers == {"Retry-After": "1"}
    assert refusal(dtr.Conflict("moved on")).status == 503


def test_the_client_learns_the_class_of_the_error() -> None:
    assert refusal(errors.NotFound("no trial")).document()["error"] == "NotFound"
    assert "error" not in Refused("slow", "10 s").document()


def test_half_a_surrogate_pair_in_a_message_can_be_written() -> None:
    assert b"\\ud800" in Refused("content", "found '\ud800'").body()


def test_an_unknown_error_of_the_package_is_no_fault_of_the_caller() -> None:
    assert refusal(dtr.DTRError("whatever")).status == 503


def test_a_site_hears_no_numbers_of_records_no_reasons_and_no_policy() -> None:
    told = {
        errors.Conflict("the log has 4711 records"): "cannot store anything now",
        errors.Unavailable("4711 rows do not fit on the disk"): "cannot store anything now",
        errors.LogError("event 4711 of the log", sequence=4711): "cannot be continued here",
        errors.DesignError("the policy Greedy(4711) failed"): "nothing was recorded",
        errors.NotEstimable("4711 units"): "no such answer",
        errors.ProtocolError("held (4711 units)", blind="held"): "held",
        errors.ProtocolError("unit 'u1' is complete"): "unit 'u1' is complete",
        errors.NotFound("unknown unit 'u9'"): "unknown unit 'u9'",
        errors.NotAllowed("not yours"): "not yours",
        errors.OtherLog("meant for the rehearsal"): "meant for the rehearsal",
        errors.ObservationError("x is missing"): "x is missing",
    }

    for error, detail in told.items():
        seen, all_of_it = refusal(error, blind=True), refusal(error)
        assert detail in seen.detail
        assert "4711" not in seen.body().decode()
        assert (seen.kind, seen.error) == (all_of_it.kind, all_of_it.error)
        assert all_of_it.detail == (seen.detail if all_of_it.kind == "unavailable" else str(error))
    assert {type(error) for error in told} == set(OF_ERRORS)


def test_where_the_database_is_stands_in_the_log_once_in_a_while_and_in_no_answer(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dtrbandit.service.problems.SECONDS_BETWEEN_LINES", math.inf)
    away = errors.Unavailable('cannot connect to db.internal: connection to socket "/run/pg/.s.PGSQL.5432" failed')

    answers = [refusal(away, blind=blind).body().decode() for blind in (True, False, False)]

    assert len(set(answers)) == 1
    assert "db.internal" not in answers[0]
    assert "/run/pg" not in answers[0]
    assert [record.getMessage() for record in caplog.records] == [f"a request was refused: {away}"]


def test_a_database_that_is_damaged_is_called_so_without_its_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "trial.db").write_bytes(b"no database" * 1000)

    with pytest.raises(dtr.LogError) as damaged:
        connect(f"sqlite:///{tmp_path}/trial.db")
    answer = refusal(damaged.value).body().decode()

    assert "is damaged" in answer
    assert str(tmp_path) not in answer
    assert str(tmp_path) in caplog.text


def test_what_the_service_says_of_itself_is_said_to_all_but_sites() -> None:
    busy = Busy("2000 requests are waiting already")

    assert refusal(busy).detail == "2000 requests are waiting already"
    assert "2000" not in refusal(busy, blind=True).detail
    assert refusal(busy).error == "Unavailable"


def test_who_sends_too_many_wrong_keys_is_told_how_long_to_wait() -> None:
    assert Refused("wrong-keys", "10 wrong keys", wait=42).headers == {"Retry-After": "42"}
    assert Refused("wrong-keys", "10 wrong keys").status == 429


def test_what_a_site_is_not_told_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    shown = refusal(errors.DesignError("policy 'mine' raised 4712"), blind=True)

    assert "4712" not in shown.detail
    assert [record.getMessage() for record in caplog.records] == ["a request was refused: policy 'mine' raised 4712"]


def test_a_service_that_is_busy_sends_nobody_to_its_log(caplog: pytest.LogCaptureFixture) -> None:
    told = refusal(Busy("the service is starting"), blind=True).detail

    assert "Try again" in told
    assert "log" not in told
    assert not caplog.records
