"""Forms that are refused: those of another log, and those that others have overtaken."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from extras import needed
from serving.served import Served
from serving.surfer import Form, Surfer
from web.bedside import banner, enrol

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.web.refusals import Refusal  # noqa: E402

Somebody = Callable[[str], Surfer]
TYPED = {
    "enrol": {"unit": "u2", "column.x": "0.5"},
    "respond": {"column.z": "1.5"},
    "outcome": {"outcome": "2.5"},
    "withdraw": {"reason": "moved"},
    "override": {"arm": "a", "reason": "allergy"},
}


def opened_forms(nurse: Surfer, trial: str) -> dict[str, Form]:
    """Return every form that acts, as it is before the lock: u1 awaits its response, u0 its outcome."""
    left = nurse.post(enrol(nurse, trial, "u0").form("/respond"), **{"column.z": "-1"})
    unit = enrol(nurse, trial, "u1")
    found = {name: unit.form(f"/{name}") for name in ("respond", "withdraw", "override")}
    return {**found, "outcome": left.form("/outcome"), "enrol": nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")}


def test_no_form_of_the_rehearsal_acts_in_the_live_trial(served: Served, trial: str, somebody: Somebody) -> None:
    """Units of the same ids are there in the live trial too: nothing but the log tells them apart."""
    nurse = somebody("site")
    forms = opened_forms(nurse, trial)
    served.post(f"/trials/{trial}/lock", {"reason": "approved"})
    for unit in ("u0", "u1"):
        enrol(nurse, trial, unit)
    before = served.records(f"/trials/{trial}")

    answers = {name: nurse.post(form, **TYPED[name]) for name, form in forms.items()}

    assert set(answers) == set(TYPED)
    for answer in answers.values():
        assert answer.status == 409
        assert "<h1>This form was opened in the rehearsal</h1>" in answer.text
        assert "The trial was locked at 20" in answer.text
        assert banner(answer) == "LIVE"
        assert [form.action for form in answer.forms()] == ["/ui/logout"]
    assert served.records(f"/trials/{trial}") == before


def test_a_refused_form_of_the_rehearsal_says_what_was_typed(served: Served, trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")
    served.post(f"/trials/{trial}/lock", {"reason": "approved"})

    shown = nurse.post(form, unit="T-1", reason="allergy", **{"column.x": "0.5", "exclude.0.1": "yes"})

    typed = re.findall(r"<dt>(.*?)</dt><dd><bdi>(.*?)</bdi></dd>", shown.text)
    assert typed == [("unit", "T-1"), ("x", "0.5"), ("never b at first", "yes"), ("reason", "allergy")]


def test_a_form_of_the_rehearsal_with_a_typing_error_does_not_come_back_as_one_of_the_live_trial(
    served: Served, trial: str, somebody: Somebody
) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")
    served.post(f"/trials/{trial}/lock", {"reason": "approved"})

    shown = nurse.post(form, unit="T-1", **{"column.x": "1,5"})

    assert shown.status == 409
    assert "This form was opened in the rehearsal" in shown.text


def test_a_form_that_comes_back_with_an_error_stays_one_of_its_log(trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")

    shown = nurse.post(form, unit="T-1", **{"column.x": "1,5"})

    assert shown.status == 422
    assert shown.form("/enrol").fields["log"] == form.fields["log"] == "rehearsal"
    assert Refusal("enrol", {"log": "rehearsal"}, {}, None, 422).log("enrol", "live") == "rehearsal"
    assert Refusal("enrol", {"log": "rehearsal"}, {}, None, 422).log("outcome", "live") == "live"


@pytest.mark.parametrize("log", [None, "", "live", "other"])
@pytest.mark.parametrize("name", TYPED)
def test_a_form_without_its_log_or_with_another_one_is_refused(
    served: Served, trial: str, somebody: Somebody, name: str, log: str | None
) -> None:
    nurse = somebody("site")
    token = enrol(nurse, trial, "u1").form("/ui/logout").fields["token"]
    fields = {"token": token, "unit": "u1", "stage": "second", **TYPED[name], **({} if log is None else {"log": log})}

    answer = nurse.submit(f"/ui/trials/{trial}/{name}", fields)

    assert answer.status == 409
    assert "<h1>This form cannot be used</h1>" in answer.text
    assert served.records(f"/trials/{trial}") == 3


def test_a_form_of_the_live_trial_still_records_the_late_outcome_after_the_end(
    served: Served, trial: str, somebody: Somebody
) -> None:
    nurse = somebody("site")
    served.post(f"/trials/{trial}/lock", {"reason": "approved"})
    left = nurse.post(enrol(nurse, trial, "u1").form("/respond"), **{"column.z": "-1"})
    served.post(f"/trials/{trial}/end", {"reason": "complete"})

    ended = nurse.post(left.form("/outcome"), outcome="2.5")

    assert "The outcome is on record." in ended.text
    assert banner(ended) == "ENDED"


# -- a page that others have overtaken ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "typed", "meanwhile"),
    [
        ("respond", {"column.z": "2"}, ("responses", {"context": {"z": 1.5}})),
        ("respond", {"column.z": "2"}, ("withdrawal", {"reason": "moved"})),
        ("withdraw", {"reason": "lost"}, ("withdrawal", {"reason": "moved"})),
        ("withdraw", {"reason": " "}, ("withdrawal", {"reason": "moved"})),
    ],
)
def test_a_form_that_others_have_overtaken_is_refused_in_words_with_what_was_typed(
    served: Served, trial: str, somebody: Somebody, form: str, typed: dict[str, str], meanwhile: tuple[str, object]
) -> None:
    nurse = somebody("site")
    page = enrol(nurse, trial, "u1")
    served.post(f"/trials/{trial}/units/u1/{meanwhile[0]}", meanwhile[1])
    before = served.records(f"/trials/{trial}")

    shown = nurse.post(page.form(f"/{form}"), **typed)

    assert shown.status in (409, 422)
    assert shown.text.count('role="alert" tabindex="-1"') == 1
    assert [value for value in typed.values() if f"<bdi>{value}</bdi>" not in shown.text] == [
        value for value in typed.values() if not value.strip()
    ]
    assert served.records(f"/trials/{trial}") == before
