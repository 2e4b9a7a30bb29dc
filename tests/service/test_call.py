"""What an endpoint does not know is refused, and not passed over."""

from __future__ import annotations

import pytest

from serving.served import Answer, Served


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["detail"]


def test_a_parameter_that_the_endpoint_does_not_know_is_refused(served: Served, trial: str) -> None:
    allowed = "it may have awaiting, overdue"

    assert refused(served.get(f"{trial}/units?late=true")) == (422, f"the address has the parameter 'late'; {allowed}")
    assert refused(served.get(f"{trial}?x=1")) == (422, "the address has the parameter 'x'; it may have none")
    assert served.get(f"{trial}/units?awaiting=second&overdue=true").status == 200


def test_a_parameter_that_is_there_twice_is_refused(served: Served, trial: str) -> None:
    told = "the address has the parameter 'since' 2 times"

    assert refused(served.get(f"{trial}/log?since=0&since=1")) == (422, told)


@pytest.mark.parametrize("path", ["/units", "/units/u1/responses", "/units/u1/outcome", "/hold"])
def test_it_is_refused_also_where_something_would_be_recorded(path: str, served: Served, trial: str) -> None:
    answer = served.post(f"{trial}{path}?dry_run=true", {"unit": "u1", "context": {"x": 0.5}})

    assert answer.status == 422
    assert "'dry_run'" in answer.json["detail"]
    assert served.records(trial) == 1


@pytest.mark.parametrize("path", ["/trials", "/ready", "/keys"])
def test_a_body_that_nobody_would_read_is_refused(path: str, served: Served) -> None:
    answer = served.send("GET", path, {"overlap": 24})

    assert refused(answer) == (400, "the request has a body, and this address takes none")
    assert answer.json["remedy"].startswith("Leave the body out")
    assert served.send("GET", path, {}).status == 200


@pytest.mark.parametrize(
    "path", ["", "/units", "/units/u1/responses", "/units/u1/outcome", "/units/u1/withdrawal", "/units/u1/override",
             "/units/u1/corrections", "/units/u1/void", "/units/u1/unblinding", "/hold", "/release", "/arms/close",
             "/lock", "/end"],
)  # fmt: skip
def test_an_entry_that_a_body_does_not_know_is_refused_everywhere(path: str, served: Served, trial: str) -> None:
    answer = served.post(f"{trial}{path}" if path else "/trials", {"surprise": 1})

    assert answer.status == 422
    assert "surprise is not an entry of this body" in answer.json["detail"]
    assert served.records(trial) == 1


@pytest.mark.parametrize("path", ["/trials", "/keys", "/keys/some/rotation", "/keys/some/revocation"])
def test_a_log_is_not_named_where_no_log_of_a_trial_is_written(path: str, served: Served) -> None:
    for log in ("rehearsal", "nonsense"):
        answer = served.post(path, {}, headers={"Dtrbandit-Log": log})

        assert refused(answer) == (400, "the request has Dtrbandit-Log, and it writes to no log of a trial")
        assert answer.json["remedy"].startswith("Leave the header out")
