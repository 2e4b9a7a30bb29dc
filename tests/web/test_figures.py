"""What charts show, against the plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dtrbandit as dtr
from extras import needed
from web.course import small_course

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.trial.ledger import Ledger  # noqa: E402
from dtrbandit.web import figures  # noqa: E402


@pytest.fixture(scope="module")
def trial() -> dtr.Trial:
    return small_course()


@pytest.fixture(scope="module")
def ledger(trial: dtr.Trial) -> Ledger:
    return trial.ledger()


def test_shares_count_every_decision_once(trial: dtr.Trial, ledger: Ledger) -> None:
    arms, reasons = figures.shares_of_arms(ledger, 0), figures.shares_of_reasons(ledger, 0)

    summary = trial.summary()
    void = trial.unit("u13").arms["first"]
    expected = {arm: count - (arm == void) for arm, count in summary.given["first"].items()}
    assert dict(zip(arms.labels, arms.counts.sum(axis=0).tolist(), strict=True)) == expected
    assert reasons.counts.sum() == 41
    assert arms.edges[0] == 1
    assert arms.edges[-1] == 42
    assert len(arms.counts) == figures.BARS


def test_shares_of_nothing_are_empty() -> None:
    trial = small_course(0, tidy=True)
    empty = trial.ledger()

    assert figures.shares_of_arms(empty, 0).counts.shape == (0, 2)
    assert figures.shares_of_reasons(empty, 0).counts.shape == (0, 0)
    assert figures.leads(empty, trial.policy, 0).known == 0
    assert figures.smallest_eigenvalues(empty, 1).values.shape == (2, 0)
    assert figures.benefit(empty).forced.mean is None


def test_leads_are_those_of_free_decisions(trial: dtr.Trial, ledger: Ledger) -> None:
    found = figures.leads(ledger, trial.policy, 0)

    histories = dtr.Session.resume(trial.session_log()).histories
    decisions = [histories.decisions(unit)[0] for unit in histories.names]
    free = [d.q_tilde for d in decisions if d.reason != "forced" and None not in d.q_tilde.values()]
    gaps = [abs(q["a"] - q["b"]) for q in free if q["a"] is not None and q["b"] is not None]
    assert found.known == len(gaps)
    assert found.half_delta == 0.5
    assert found.beyond == sum(gap > 0.5 for gap in gaps)
    assert (found.low <= found.middle).all()
    assert (found.middle <= found.high).all()


def test_policies_without_a_delta_have_no_line() -> None:
    assert figures.half_delta(dtr.Greedy(), 0) is None


def test_eigenvalues_are_those_of_each_arms_gram_matrix(trial: dtr.Trial, ledger: Ledger) -> None:
    found = figures.smallest_eigenvalues(ledger, 0)

    records = [r for r in dtr.Session.resume(trial.session_log()).histories if r.voided is None]
    for arm in (0, 1):
        psi = np.array([r.history.features[0] for r in records if r.history.arms[0] == arm])
        assert found.values[arm, -1] == pytest.approx(np.linalg.eigvalsh(psi.T @ psi)[0] / len(psi), rel=1e-9)


def test_means_are_of_units_before_the_first_under_way(trial: dtr.Trial, ledger: Ledger) -> None:
    found = figures.benefit(ledger)

    histories = dtr.Session.resume(trial.session_log()).histories
    records = [r for r in histories if r.voided is None][:-1]
    forced = [r.history.outcome for r in records if histories.decisions(r.history.unit)[0].reason == "forced"]
    known = [y for y in forced if y is not None]
    assert found.settled == 40
    assert found.waiting == "late"
    assert found.forced.mean == pytest.approx(np.mean(known))
    assert found.running.values[0, -1] == pytest.approx(np.mean(known))
    assert found.forced.units + found.free.units == 38
    assert found.forced.dropped + found.free.dropped == 1


def test_forced_rounds_have_students_interval() -> None:
    outcomes = np.random.default_rng(1).normal(size=30)

    found = figures.mean(outcomes, 0, True)

    low, high = stats.t.interval(0.95, 29, outcomes.mean(), stats.sem(outcomes))
    assert [found.low, found.high] == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("outcomes", "dropped", "forced", "why"),
    [
        (30, 0, False, "earlier outcomes chose these arms"),
        (30, 1, True, "1 of 31 dropped out"),
        (9, 0, True, "10 outcomes"),
        (0, 0, True, "10 outcomes"),
    ],
)
def test_where_no_interval_is_valid_there_is_none_and_it_says_why(
    outcomes: int, dropped: int, forced: bool, why: str
) -> None:
    found = figures.mean(np.arange(float(outcomes)), dropped, forced)

    assert (found.low, found.high) == (None, None)
    assert why in found.why


def test_equal_outcomes_have_no_interval_of_no_width() -> None:
    found = figures.mean(np.ones(12), 0, True)

    assert (found.mean, found.low, found.high) == (1.0, None, None)
    assert "all these outcomes are equal" in found.why


def test_once_an_arm_is_closed_forced_rounds_have_no_interval() -> None:
    trial = small_course(tidy=True)
    before = figures.benefit(trial.ledger()).forced
    trial.close_arm("second", "b", reason="harm")

    after = figures.benefit(trial.ledger()).forced

    assert before.low is not None
    assert (after.mean, after.low, after.high) == (before.mean, None, None)
    assert "an arm was closed" in after.why
