"""Cohorts of open trials, and the sessions that would have seen them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dtrbandit as dtr
import open_data
from dtrbandit.evaluation import Cohort

SIGNS = {1: "plus", -1: "minus"}
BINARY = {1: "plus", 0: "minus"}
ARMS = ("plus", "minus")


def ctn0030() -> Cohort:
    """Real: two randomisations, early successes, drop-outs."""
    frame = pd.read_csv(open_data.path("ctn0030"))
    frame["success"] = (frame["status"] == "success").astype(float)
    design = dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + age + heroin30 + base_use_days"),
            dtr.Stage("second", ARMS, "1 + sev1 + pos1 + heroin30:C(first)", enter_if="success == 0"),
        ]
    )
    return _read(frame, design, "Y", SIGNS, unit="who")


def adhd() -> Cohort:
    """Simulated: responders are not randomised again."""
    design = dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + severity + odd + priormed"),
            dtr.Stage("second", ARMS, "1 + adherence + NRtime + C(first)", enter_if="R == 0"),
        ]
    )
    return _read(open_data.path("d3c_adhd2023"), design, "Y2", SIGNS, unit="ID")


def autism() -> Cohort:
    """Simulated: one first arm leaves one second option, left blank in the file."""
    design = dtr.Design(
        [
            dtr.Stage("first", ("with", "without"), "1 + Y0 + O11"),
            dtr.Stage("second", ("add", "intensify"), "1 + Y1 + O21", enter_if="R == 0"),
        ],
        plans=[("with", "intensify"), ("without", "add"), ("without", "intensify")],
    )
    recode = {"A1": {-1: "with", 1: "without"}, "A2": {-1: "add", 1: "intensify"}}
    return Cohort.from_frame(
        open_data.path("d3c_autism2023"), design, arms=["A1", "A2"], outcome="Y2", unit="ID", recode=recode
    )


def bmi() -> Cohort:
    """Simulated: arms by their labels."""
    frame = pd.read_csv(open_data.path("bmi"))
    frame["Y"] = -100 * (frame["month12BMI"] - frame["baselineBMI"]) / frame["baselineBMI"]
    design = dtr.Design(
        [
            dtr.Stage("first", ("CD", "MR"), "1 + gender + parentBMI"),
            dtr.Stage("second", ("CD", "MR"), "1 + gender + parentBMI + month4BMI + C(first)"),
        ]
    )
    return Cohort.from_frame(frame, design, arms=["A1", "A2"], outcome="Y")


def two_stages() -> Cohort:
    """Simulated: treatments depend on covariates; arms are labels that the file has as numbers."""
    design = dtr.Design(
        [dtr.Stage("first", ("0", "1"), "1 + X1"), dtr.Stage("second", ("0", "1"), "1 + X2 + X1:C(first)")]
    )
    return Cohort.from_frame(open_data.path("dtrreg_twostagecont"), design, arms=["A1", "A2"], outcome="Y")


def everyone_again() -> Cohort:
    """Simulated: a second arm for every unit."""
    design = dtr.Design(
        [dtr.Stage("first", ARMS, "1 + o11 + o12 + o13"), dtr.Stage("second", ARMS, "1 + o12 + o22 + r")]
    )
    frame = pd.read_csv(open_data.path("adhd_dtrlearn2"))
    return _read(frame.rename(columns={"a1": "A1", "a2": "A2"}), design, "y", SIGNS, unit="id")


def codiacs() -> Cohort:
    """Real, small: some plans have two units."""
    design = dtr.Design([dtr.Stage("first", ARMS, "1"), dtr.Stage("second", ARMS, "1 + O2")])
    return _read(open_data.path("codiacs"), design, "Y", BINARY, unit="ID")


OPEN = (ctn0030, adhd, autism, bmi, two_stages, everyone_again, codiacs)


def _read(frame: object, design: dtr.Design, outcome: str, recode: Any, *, unit: str) -> Cohort:
    return Cohort.from_frame(
        frame, design, arms=["A1", "A2"], outcome=outcome, unit=unit, recode={"A1": recode, "A2": recode}
    )


def branching(n: int, seed: int) -> Cohort:
    """Draw three stages with infeasible plans, leavers, drop-outs with and without a whole next context."""
    rng = np.random.default_rng(seed)
    design = dtr.Design(
        [
            dtr.Stage("first", ("a", "b"), "1 + x"),
            dtr.Stage("second", ("a", "b", "c"), "1 + y + x:C(first)", enter_if="r > -1"),
            dtr.Stage("third", ("a", "b"), "1 + z", enter_if="s < 1"),
        ],
        plans=[("a", "a", "a"), ("a", "a", "b"), ("a", "b", "b"), ("b", "b", "a"), ("b", "b", "b"), ("b", "c", "a")],
    )
    columns = {name: rng.normal(size=n) for name in "xyrzs"}
    plan = np.array(design.arm_plans)[rng.integers(6, size=n)]
    reached = 1 + (columns["r"] > -1).astype(int)
    reached += (reached == 2) & (columns["s"] < 1)
    outcome = columns["x"] + plan @ [1.0, -0.5, 0.7] * columns["z"] + rng.normal(size=n)
    lost = np.where(rng.random(n) < 0.3, rng.integers(1, 4, size=n), 9)  # at which stage, with its arm
    outcome[lost <= reached] = np.nan
    plan[np.arange(3) >= np.minimum(reached, lost)[:, None]] = -1
    partly = (lost == 1) & (rng.random(n) < 0.5)
    columns["y"][partly] = np.nan
    contexts = tuple({name: columns[name] for name in names} for names in design.columns)
    weights = np.ones(n)
    return Cohort(design, tuple(map(str, range(n))), contexts, plan.astype(np.int8), outcome, weights)


def session_of(cohort: Cohort, policy: Any) -> dtr.Session:
    """Return a session that was told what happened to the cohort, and overridden where it decided otherwise."""
    session = dtr.Session(cohort.design, policy)
    for i, unit in enumerate(cohort.units):
        _tell(session, cohort, i, unit)
        if np.isnan(cohort.outcome[i]):
            session.withdraw(unit, reason="dropped out")
        else:
            session.complete(unit, float(cohort.outcome[i]))
    return session


def _tell(session: dtr.Session, cohort: Cohort, i: int, unit: str) -> None:
    for m, stage in enumerate(cohort.design.stages):
        context = {name: float(values[i]) for name, values in cohort.contexts[m].items() if np.isfinite(values[i])}
        if m and not cohort.entered[i, m] and np.isnan(cohort.outcome[i]):
            return  # its context is not whole: a session cannot hear of it
        decision = session.respond(unit, context, stage=stage.name) if m else session.enroll(unit, context)
        if cohort.arms[i, m] < 0:
            return
        arm = stage.arms[cohort.arms[i, m]]
        if decision is not None and decision.arm != arm:
            session.override(unit, arm, reason="was given", stage=stage.name)
