"""Pages for those who compare or audit: overview, allocation, outcomes, learning, units, integrity."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dtrbandit.trial import Trial
from dtrbandit.trial.ledger import COMPLETED, IN_FLIGHT, VOIDED, WITHDRAWN, Ledger
from dtrbandit.trial.units import OUTCOME
from dtrbandit.web import figures
from dtrbandit.web.cache import Find
from dtrbandit.web.charts import (
    Chart,
    chart_of_intervals,
    chart_of_leads,
    chart_of_lines,
    chart_of_shares,
)
from dtrbandit.web.contrasts import Compared, compared, state_of
from dtrbandit.web.internal_client import Entries
from dtrbandit.web.page import Page

LATEST = 50  # records on the page of an auditor

OF_ARMS = "The share of each arm really given, in parts of equal size."
OF_REASONS = "What led to the decisions, in the same parts."
OF_OUTCOMES = (
    "Mean outcome so far, of units in the order of enrolment before the first under way. No interval along the way."
)
OF_LEADS = (
    "By how much Q̃ of the best arm exceeds the next best, at free decisions: median, and the middle 80 %. Above Δ/2 "
    "the forced rounds decide alone; below, Q̂ does."
)
OF_EIGENVALUES = "The smallest eigenvalue of Σψψ'/n of the n units given each arm. Near 0, some effect is hardly known."


def _drawn(name: str, find: Find[Entries]) -> Callable[[Request], Awaitable[Response]]:
    """Return what shows a page that is found in the ledger alone, once for all readers."""

    async def show(request: Request) -> Response:
        page = Page(request)
        trial = await page.trial("summarise_trial")
        return page.show(f"{name}.html", trial=trial, **await page.cached(trial, name, find))

    return show


def _overview(ledger: Ledger, trial: Trial) -> Entries:
    """Find where a trial stands."""
    counts = {name: ledger.count(how) for name, how in _ENDS.items()}
    charts = [_arms(ledger, m) for m in range(len(ledger.stages))]
    found = figures.benefit(ledger)
    return {
        "units": ledger.units,
        "counts": counts,
        "overdue": sum(each.overdue for each in trial.units()),
        "held": ledger.held,
        "closed": list(ledger.closed),
        "ended": ledger.ended,
        "policy": repr(trial.policy),
        "design": str(trial.design),
        "charts": [*charts, _running(found), _reasons(ledger, 0)],
        "benefit": found,
    }


_ENDS = {"in flight": IN_FLIGHT, "completed": COMPLETED, "withdrawn": WITHDRAWN, "void": VOIDED}


def _arms(ledger: Ledger, m: int) -> Chart:
    shares = figures.shares_of_arms(ledger, m)
    return chart_of_shares(shares, f"Arms given, stage {shares.stage}", OF_ARMS)


def _reasons(ledger: Ledger, m: int) -> Chart:
    shares = figures.shares_of_reasons(ledger, m)
    return chart_of_shares(shares, f"Reasons, stage {shares.stage}", OF_REASONS)


def _running(found: figures.Benefit) -> Chart:
    return chart_of_lines(found.running, "Mean outcome, free and forced rounds", OF_OUTCOMES, over="unit")


def _allocation(ledger: Ledger, _: Trial) -> Entries:
    """Draw which arms were given over time, and why."""
    stages = enumerate(ledger.design.stages)
    return {"stages": [(stage.name, [_arms(ledger, m), _reasons(ledger, m)]) for m, stage in stages]}


async def show_outcomes(request: Request) -> Response:
    """Show outcomes of free against forced rounds, and what plans are worth by valid methods."""
    page = Page(request)
    trial = await page.trial("summarise_trial")
    found = await page.cached(trial, "benefit", lambda ledger, _: figures.benefit(ledger))
    methods = await page.cached(trial, "plans", compared, state_of)
    drawn = [(each, _forest(each)) for each in methods]
    return page.show("outcomes.html", trial=trial, benefit=found, chart=_running(found), methods=drawn)


def _forest(method: Compared) -> Chart | None:
    rows = [(each.regime, each.value, each.low, each.high) for each in method.values]
    about = "Mean outcome had everybody followed the plan, with 95 % intervals, each plan alone."
    return chart_of_intervals(rows, f"Values of plans: {method.method}", about) if rows else None


def _learning(ledger: Ledger, trial: Trial) -> Entries:
    """Draw margin and diversity: what the policy can tell apart, and how well it knows each arm."""
    found = []
    for m, stage in enumerate(ledger.design.stages):
        leads = figures.leads(ledger, trial.policy, m)
        values = figures.smallest_eigenvalues(ledger, m)
        charts = [
            chart_of_leads(leads, f"Margin, stage {stage.name}", OF_LEADS),
            chart_of_lines(values, f"Diversity, stage {stage.name}", OF_EIGENVALUES, over="decision", zero=True),
        ]
        found.append((leads, charts))
    return {"stages": found}


async def show_units(request: Request) -> Response:
    """List the units in flight, those who are late, or those who await something."""
    page = Page(request)
    trial = await page.trial("read_head")
    awaiting, late = request.query_params.get("awaiting") or None, request.query_params.get("overdue") == "true"
    wanted = {"awaiting": awaiting, "overdue": "true" if late else None}
    listed = await page.units(trial, **{name: value for name, value in wanted.items() if value})
    choices = [*(stage["name"] for stage in trial["stages"][1:]), OUTCOME]
    return page.show(
        "units.html",
        trial=trial,
        **listed,
        awaiting=awaiting,
        overdue=late,
        choices=choices,
    )


async def show_integrity(request: Request) -> Response:
    """Show what proves that nothing was changed, and the latest records."""
    page = Page(request)
    trial = await page.trial("read_head")
    head = await page.ask("GET", f"/trials/{trial['name']}/head")
    since = max(0, head["sequence"] - LATEST)
    lines = await page.lines(f"/trials/{trial['name']}/log", f"since={since}&most={LATEST}")
    records = [json.loads(line) for line in lines.splitlines()]
    found = await asyncio.to_thread(page.dashboard.service.store.last_checks)
    own = [each for each in found if each.trial == trial["name"]]
    checks = {each.what: {"ok": each.ok, "time": datetime.fromtimestamp(each.time, UTC)} for each in own}
    return page.show("integrity.html", trial=trial, head=head, records=records[::-1], checks=checks)


routes = [
    Route("/ui/trials/{trial}", _drawn("overview", _overview)),
    Route("/ui/trials/{trial}/allocation", _drawn("allocation", _allocation)),
    Route("/ui/trials/{trial}/outcomes", show_outcomes),
    Route("/ui/trials/{trial}/learning", _drawn("learning", _learning)),
    Route("/ui/trials/{trial}/units", show_units),
    Route("/ui/trials/{trial}/integrity", show_integrity),
]
