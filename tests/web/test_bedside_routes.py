"""Forms by hand: the arm, what is wrong at which field, double clicks, and what a site never sees (P8)."""

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

from dtrbandit.web.bedside_routes import Refusal  # noqa: E402

Somebody = Callable[[str], Surfer]


def test_a_nurse_takes_a_patient_from_enrolment_to_the_outcome(served: Served, trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")

    first = enrol(nurse, trial, "u1")
    second = nurse.post(first.form("/respond"), **{"column.z": "1.5"})
    ended = nurse.post(second.form("/outcome"), outcome="-8.5")

    arms = served.get(f"/trials/{trial}/units/u1").json["arms"]
    assert "Enrolled, and on record." in first.text
    assert f"<strong>{arms['first']}</strong>" in first.text
    assert f"<strong>{arms['second']}</strong>" in second.text
    assert "It is complete." in ended.text
    assert [form.action for form in ended.forms()] == ["/ui/logout"]
    actors = {record["actor"] for record in served.get(f"/trials/{trial}/units/u1").json["records"]}
    assert [actor.startswith("the site (site north, key ") for actor in actors] == [True]


def test_an_administrator_enrols_for_a_site_and_the_site_has_the_unit(
    served: Served, trial: str, somebody: Somebody
) -> None:
    nurse, administrator = somebody("site"), somebody("administrator")

    form = administrator.get(f"/ui/trials/{trial}/bedside")
    shown = enrol(administrator, trial, "u1", site=" north ")
    enrol(administrator, trial, "u2", site="")

    assert '<label for="enrol-site">Site</label>' in form.text
    assert '<option value="north"></option>' in form.text
    assert "Enrolled, and on record." in shown.text
    assert [served.get(f"/trials/{trial}/units/{unit}").json["site"] for unit in ("u1", "u2")] == ["north", None]
    assert nurse.get(f"/ui/trials/{trial}/unit?id=u1").status == 200
    assert nurse.get(f"/ui/trials/{trial}/unit?id=u2").status == 403
    assert "enrol-site" not in nurse.get(f"/ui/trials/{trial}/bedside").text


def test_a_site_that_cannot_be_one_is_told_at_the_form_and_kept(served: Served, trial: str, somebody: Somebody) -> None:
    shown = enrol(somebody("administrator"), trial, "u1", site="n" * 300)

    assert shown.status == 422
    assert shown.form("/enrol").fields["site"] == "n" * 300
    assert served.records(f"/trials/{trial}") == 1


def test_a_site_enrols_for_no_other_whatever_its_form_says(served: Served, trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")

    nurse.submit(form.action, {**form.fields, "unit": "u1", "column.x": "0.5", "site": "south"})

    assert served.get(f"/trials/{trial}/units/u1").json["site"] == "north"


def test_who_leaves_early_needs_not_all_columns_and_awaits_the_outcome(trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")

    left = nurse.post(enrol(nurse, trial, "u1").form("/respond"), **{"column.z": "-1"})

    assert "It left early and awaits its outcome." in left.text
    assert left.form("/outcome")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"column.x": "12,5"}, "found &#39;12,5&#39;; a number is written as 12.5"),
        ({"column.x": ""}, "a number is missing"),
        ({"unit": "  "}, "the unit&#39;s id is missing"),
        ({"unit": ".."}, "dots alone are no id"),
        ({"column.x": "1e300"}, "Nothing was recorded"),
        ({"exclude.0.0": "yes"}, "the reason is missing"),
        ({"exclude.0.0": "yes", "exclude.0.1": "yes", "reason": "allergy"}, "contradicts what is on record"),
    ],
)
def test_what_is_wrong_is_told_at_the_form_and_what_was_typed_is_kept(
    served: Served, trial: str, somebody: Somebody, typed: dict[str, str], told: str
) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")
    fields = {**form.fields, "unit": "u-77", "column.x": "0.25", **typed}

    shown = nurse.submit(form.action, fields)

    assert shown.status in (409, 422)
    assert told in shown.text or "A value cannot be recorded" in shown.text
    again = shown.form("/enrol").fields
    assert {name: again[name] for name in ("unit", "column.x", "once")} == {
        name: fields[name] for name in ("unit", "column.x", "once")
    }
    assert served.records(f"/trials/{trial}") == 1


def test_a_form_that_is_sent_twice_acts_once(served: Served, trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")

    answers = [nurse.submit(form.action, {**form.fields, "unit": "u1", "column.x": "1"}) for _ in range(3)]
    other = nurse.submit(form.action, {**form.fields, "unit": "u2", "column.x": "1"})

    assert {(answer.status, answer.header("location")) for answer in answers} == {
        (303, f"/ui/trials/{trial}/unit?id=u1&done=enrolled")
    }
    assert other.status == 409
    assert served.records(f"/trials/{trial}") == 3


def test_a_form_that_the_browser_kept_serves_for_the_next_patient_once_that_was_said(
    served: Served, trial: str, somebody: Somebody
) -> None:
    nurse = somebody("site")
    form = nurse.get(f"/ui/trials/{trial}/bedside").form("/enrol")
    nurse.post(form, unit="u1", **{"column.x": "0.5"})

    told = nurse.post(form, unit="u2", **{"column.x": "0.5"})
    before = served.records(f"/trials/{trial}")
    taken = nurse.post(told.form("/enrol"))

    assert (told.status, before) == (409, 3)
    assert "This form was sent before, with other values" in told.text
    assert "idempotency" not in told.text
    assert "Enrolled, and on record." in taken.text


@pytest.mark.parametrize("token", ["", "wrong"])
@pytest.mark.parametrize("action", ["enrol", "respond", "outcome", "withdraw", "override"])
def test_a_form_from_elsewhere_is_refused(
    served: Served, trial: str, somebody: Somebody, action: str, token: str
) -> None:
    nurse = somebody("site")
    fields = {"unit": "u1", "column.x": "1", "outcome": "1", "reason": "r", "arm": "a", "token": token}

    answer = nurse.submit(f"/ui/trials/{trial}/{action}", fields)

    assert answer.status == 403
    assert served.records(f"/trials/{trial}") == 1


@pytest.mark.parametrize("role", ["statistician", "auditor"])
def test_who_may_not_treat_has_no_forms_and_cannot_send_them(
    served: Served, trial: str, somebody: Somebody, role: str
) -> None:
    served.post(f"/trials/{trial}/units", {"unit": "u1", "context": {"x": 1.0}})
    surfer = somebody(role)
    page = surfer.get(f"/ui/trials/{trial}/unit?id=u1")
    token = page.form("/ui/logout").fields["token"]

    answer = surfer.submit(f"/ui/trials/{trial}/outcome", {"token": token, "unit": "u1", "outcome": "1"})

    assert [form.action for form in page.forms()] == ["/ui/logout"]
    assert answer.status == 403
    assert served.records(f"/trials/{trial}") == 3


def test_a_site_sees_arms_and_never_what_it_must_not(served: Served, trial: str, somebody: Somebody) -> None:
    for number in range(9):
        served.post(f"/trials/{trial}/units", {"unit": f"u{number}", "context": {"x": number / 3}})
    nurse = somebody("site")

    texts = [nurse.get(f"/ui/trials/{trial}{path}").text for path in ("/bedside", "/unit?id=u3")]

    for text in texts:
        seen = re.sub(r"<[^>]+>", " ", text)
        assert not re.search(r"round|forced|clear|close\b|propensity|estimate|Reason|record \d|in all|\d+ units", seen)
    assert not re.search(r">\s*[ab]\s*<", texts[0].split("In flight")[1])


def test_a_statistician_reads_each_decision_in_words(served: Served, trial: str, somebody: Somebody) -> None:
    served.post(f"/trials/{trial}/units", {"unit": "u1", "context": {"x": 1.0}})

    text = somebody("statistician").get(f"/ui/trials/{trial}/unit?id=u1").text
    auditors = somebody("auditor").get(f"/ui/trials/{trial}/unit?id=u1").text

    assert "Reason: forced; this round is scheduled to try this arm" in text
    assert "enrolled with x 1" in text
    assert "enrolled with x 1" in auditors
    assert "Reason:" not in auditors


def test_a_withdrawal_and_an_override_need_a_reason(served: Served, trial: str, somebody: Somebody) -> None:
    nurse = somebody("site")
    page = enrol(nurse, trial, "u1")
    arm = served.get(f"/trials/{trial}/units/u1").json["arms"]["first"]
    other = "b" if arm == "a" else "a"

    refused = nurse.post(page.form("/override"), arm=other)
    given = nurse.post(refused.form("/override"), arm=other, reason="allergy")
    gone = nurse.post(given.form("/withdraw"), reason="moved away")

    assert refused.status == 422
    assert "the reason is missing" in refused.text
    assert f"<strong>{other}</strong>" in given.text
    assert "It was withdrawn (moved away)." in gone.text


def test_a_unit_that_is_not_there_is_told_and_to_a_site_looks_like_one_of_another(
    trial: str, somebody: Somebody
) -> None:
    assert somebody("administrator").get(f"/ui/trials/{trial}/unit?id=nobody").status == 404
    assert somebody("site").get(f"/ui/trials/{trial}/unit?id=nobody").status == 403
    assert somebody("administrator").get(f"/ui/trials/{trial}/unit").status in (404, 405)


@pytest.mark.parametrize("role", ["administrator", "site"])
def test_pages_for_those_who_treat_say_live_as_they_say_rehearsal(
    served: Served, trial: str, somebody: Somebody, role: str
) -> None:
    surfer = somebody(role)
    before = [surfer.get(f"/ui/trials/{trial}/bedside"), enrol(surfer, trial, "u1")]
    served.post(f"/trials/{trial}/lock", {"reason": "approved"})
    after = [surfer.get(f"/ui/trials/{trial}/bedside"), enrol(surfer, trial, "u1")]

    assert [banner(shown) for shown in before] == ["REHEARSAL"] * 2
    assert [banner(shown) for shown in after] == ["LIVE"] * 2
    assert "· LIVE</title>" in after[0].text
    assert "data-outdated" not in after[0].text


def test_an_override_is_for_the_stage_that_the_page_showed(served: Served, trial: str, somebody: Somebody) -> None:
    """Another nurse has recorded the response meanwhile: the unit is at its second stage."""
    nurse = somebody("site")
    page = enrol(nurse, trial, "u1")
    first = served.get(f"/trials/{trial}/units/u1").json["arms"]["first"]
    served.post(f"/trials/{trial}/units/u1/responses", {"context": {"z": 1.5}})
    second = served.get(f"/trials/{trial}/units/u1").json["arms"]["second"]
    other = "b" if first == "a" else "a"

    nurse.post(page.form("/override"), arm=other, reason="allergy")

    assert served.get(f"/trials/{trial}/units/u1").json["arms"] == {"first": other, "second": second}


# -- forms that are refused: of another log, and overtaken by others ---------------------------------------------

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
