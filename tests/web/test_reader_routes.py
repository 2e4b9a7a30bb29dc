"""Pages of statisticians and auditors: what they show, and what they say where there is nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from serving.served import Served
from serving.surfer import Surfer


def enrol(served: Served, trial: str, count: int) -> None:
    """Let units go through, one in three of them not to its end."""
    for number in range(count):
        unit = f"/trials/{trial}/units"
        served.post(unit, {"unit": f"u{number}", "context": {"x": number / 7}})
        served.post(f"{unit}/u{number}/responses", {"context": {"z": number % 5 - 1.0}})
        if number % 3:
            served.post(f"{unit}/u{number}/outcome", {"outcome": float(number)})


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_an_overview_counts_units_and_tells_what_is_held_and_closed(
    served: Served, trial: str, somebody: Callable[[str], Surfer]
) -> None:
    enrol(served, trial, 6)
    served.post(f"/trials/{trial}/hold", {"reason": "a <b>review</b>"})
    served.post(f"/trials/{trial}/arms/close", {"stage": "second", "arm": "b", "reason": "harm"})

    shown = somebody("statistician").get(f"/ui/trials/{trial}")

    text = words(shown.text)
    assert "units enrolled 6 in flight 2" in text
    assert "completed 4" in text
    assert "a &lt;b&gt;review&lt;/b&gt;" in shown.text
    assert "Closed: b at stage second (harm)" in text
    assert shown.text.count("<svg") == 4
    assert "REHEARSAL" in shown.text


def test_every_chart_has_its_numbers_as_a_table(served: Served, trial: str, somebody: Callable[[str], Surfer]) -> None:
    enrol(served, trial, 9)
    surfer = somebody("statistician")

    for path in ("", "/allocation", "/outcomes", "/learning"):
        shown = surfer.get(f"/ui/trials/{trial}{path}").text
        assert shown.count("<svg") == shown.count("<summary>The numbers</summary>") > 0
        assert shown.count('role="img" aria-label="') == shown.count("<svg")


def test_means_of_free_rounds_say_why_they_have_no_interval(
    served: Served, trial: str, somebody: Callable[[str], Surfer]
) -> None:
    enrol(served, trial, 12)

    text = words(somebody("statistician").get(f"/ui/trials/{trial}/outcomes").text)

    assert "No interval: earlier outcomes chose these arms" in text
    assert "The difference has no interval." in text
    assert "up to u0 , the first that is still under way" in text


def test_an_empty_trial_has_all_its_pages(trial: str, somebody: Callable[[str], Surfer]) -> None:
    surfer = somebody("administrator")

    for path in ("", "/allocation", "/outcomes", "/learning", "/units", "/integrity", "/bedside"):
        assert surfer.get(f"/ui/trials/{trial}{path}").status == 200


def test_units_are_filtered_by_what_they_await(served: Served, trial: str, somebody: Callable[[str], Surfer]) -> None:
    served.post(f"/trials/{trial}/units", {"unit": "early", "context": {"x": 1.0}})
    served.post(f"/trials/{trial}/units", {"unit": "further", "context": {"x": 1.0}})
    served.post(f"/trials/{trial}/units/further/responses", {"context": {"z": 1.0}})
    surfer = somebody("auditor")

    both = surfer.get(f"/ui/trials/{trial}/units").text
    awaiting = surfer.get(f"/ui/trials/{trial}/units?awaiting=outcome").text
    late = surfer.get(f"/ui/trials/{trial}/units?overdue=true").text

    assert [("early" in text, ">further<" in text) for text in (both, awaiting, late)] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert surfer.get(f"/ui/trials/{trial}/units?awaiting=nonsense").status == 422


def test_an_auditor_sees_head_checks_and_records_and_no_seed(
    served: Served, trial: str, somebody: Callable[[str], Surfer]
) -> None:
    enrol(served, trial, 2)
    head = served.get(f"/trials/{trial}/head").json

    shown = somebody("auditor").get(f"/ui/trials/{trial}/integrity").text

    assert f"{head['sequence']}:{head['hash']}" in shown
    assert "last verified" in shown
    assert "never" in shown
    assert "Opened" in shown
    assert "seed" not in shown


def test_a_trial_that_is_not_there_is_told(somebody: Callable[[str], Surfer]) -> None:
    shown = somebody("statistician").get("/ui/trials/none")

    assert shown.status == 404
    assert "There is no such thing" in shown.text


@pytest.mark.parametrize("role", ["statistician", "administrator", "auditor"])
def test_a_key_of_one_trial_opens_no_page_of_another(served: Served, trial: str, role: str) -> None:
    other = f"{trial}-other"
    served.create(other)
    surfer = Surfer(served)
    surfer.log_in(served.new_key(role, trial=other))
    pages = ("", "/allocation", "/outcomes", "/learning", "/units", "/integrity", "/bedside", "/unit?id=u1", "/events")

    assert {page: surfer.send("GET", f"/ui/trials/{trial}{page}").status for page in pages} == dict.fromkeys(pages, 403)
    assert surfer.send("GET", f"/ui/trials/{other}/integrity").status == 200
