"""Alive, ready, figures."""

from __future__ import annotations

from serving.served import Served


def test_anybody_may_ask_whether_it_is_alive_and_ready(served: Served) -> None:
    assert served.get("/live", key="").json == {"alive": True}
    assert served.get("/ready", key="").json == {"ready": True}


def test_figures_tell_requests_records_and_units_in_flight(served: Served, trial: str, keys: dict[str, str]) -> None:
    served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}})

    answer = served.get("/metrics", key=keys["auditor"])

    text, name = answer.body.decode(), trial.removeprefix("/trials/")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert f'dtrbandit_log_records{{trial="{name}"}} 3.0\n' in text
    assert f'dtrbandit_units_in_flight{{trial="{name}"}} 1.0\n' in text
    assert 'dtrbandit_requests_total{endpoint="enroll_unit",status="200"}' in text
    assert 'dtrbandit_request_seconds_bucket{endpoint="enroll_unit",le="+Inf"}' in text
    assert "dtrbandit_ready 1.0\n" in text
