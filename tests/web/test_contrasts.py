"""Values of plans: by valid methods alone, and the same as Python gives."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from extras import needed
from web.course import small_course

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.trial.ledger import FREE  # noqa: E402
from dtrbandit.web import contrasts  # noqa: E402
from dtrbandit.web.contrasts import compared, forced_cohort  # noqa: E402


def both(trial: dtr.Trial) -> list[contrasts.Compared]:
    return compared(trial.ledger(), trial)


def test_forced_rounds_give_what_evaluate_gives() -> None:
    trial = small_course(300, tidy=True)

    forced, _ = both(trial)

    plans = {f"{a}, then {b}": dtr.FixedRegime(rule={"first": a, "second": b}) for a in "ab" for b in "ab"}
    expected = dtr.evaluate(dtr.Cohort.from_log(trial.session_log()).forced(), plans)
    frame = expected.to_frame()
    frame = frame[frame["estimator"] == "augmented"]
    assert [(v.plan, v.value, v.low, v.high) for v in forced.values] == list(
        frame[["regime", "value", "low", "high"]].itertuples(index=False, name=None)
    )
    assert len(forced.differences) == 6
    assert "as in a randomised trial" in forced.about[0]


def test_certain_decisions_have_no_recorded_propensities_to_use() -> None:
    _, adaptive = both(small_course(60, tidy=True))

    assert adaptive.values == ()
    assert adaptive.refused is not None


def test_recorded_propensities_are_used_where_all_lie_inside() -> None:
    trial = small_course(200, floor=0.2, tidy=True)

    _, adaptive = both(trial)

    assert adaptive.refused is None
    assert all(value.low < value.value < value.high for value in adaptive.values)


def test_too_few_units_are_told_and_not_valued() -> None:
    forced, _ = both(small_course(4, tidy=True))

    assert forced.values == ()
    assert forced.refused is not None
    assert forced.refused.startswith("Not yet. Each plan needs 5 units that followed it to their outcome;")
    assert "at least 5 are needed" in str(forced.reason)


def test_a_long_log_is_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = small_course(12, tidy=True)
    monkeypatch.setattr(contrasts, "MOST_UNITS", 10)

    _, adaptive = both(trial)

    assert adaptive.refused == contrasts.LONG
    assert "at most 10 units" in str(adaptive.reason)


def test_only_units_of_forced_rounds_are_read() -> None:
    trial = small_course()
    ledger = trial.ledger()

    cohort = forced_cohort(ledger, trial)

    assert len(cohort) <= sum(kind != FREE for kind in ledger.forced)
    assert cohort.origin is not None
    assert cohort.origin.kind == "randomised"
