"""Every row of docs/bad_input.md: a clear error, and nothing changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design import values
from dtrbandit.policies import Choice
from dtrbandit.record import Assigned, History, Opened, Taught
from dtrbandit.record.codec import decode
from dtrbandit.record.events import Event, Fact
from record.plain_log import plain_text

DOCS = Path(__file__).parents[1] / "docs" / "bad_input.md"
REST = 'arms = ["a"]\nfeatures = "1"'
PLANS = [("ssri", "ssri"), ("ssri", "other"), ("other", "other")]


def stages() -> list[dtr.Stage]:
    return [
        dtr.Stage("first", arms=("ssri", "other"), features="1 + start1 + start1:slope1"),
        dtr.Stage("second", arms=("ssri", "other"), features="1 + start2", enter_if="end1 > 5"),
    ]


def started() -> dtr.Session:
    """Return a session with units in every state."""
    session = dtr.Session(dtr.Design(stages(), plans=PLANS), dtr.DTRBandit(q=1, delta=1.0))
    for unit in ("entered", "new", "done", "left", "gone"):
        session.enroll(unit, {"start1": 12.0, "slope1": -0.5})
    for unit in ("entered", "done"):
        session.respond(unit, {"start2": 9.0, "end1": 8.0})
    session.complete("done", -8.0)
    session.respond("left", {"end1": 3.0})
    session.withdraw("gone", reason="moved away")
    return session


Attempt = Callable[[dtr.Session], object]


CONTEXT = {"start1": 12.0, "slope1": -0.5}
ATTEMPTS: dict[str, list[tuple[type[Exception], tuple[str, ...], Attempt]]] = {
    "unknown-column": [
        (
            dtr.ObservationError,
            ("'u'", "'first'", "'weight'", "'start1'"),
            lambda s: s.enroll("u", {**CONTEXT, "weight": 1}),
        ),
        (dtr.ObservationError, ("'start1'", "'end1'"), lambda s: s.respond("new", {"start1": 9.0, "end1": 8.0})),
    ],
    "missing-column": [
        (dtr.ObservationError, ("'slope1'", "missing", "'start1'"), lambda s: s.enroll("u", {"start1": 1.0})),
        (dtr.ObservationError, ("'start2'", "missing"), lambda s: s.respond("new", {"end1": 8.0})),
    ],
    "missing-decisive-column": [
        (dtr.ObservationError, ("'end1'", "missing"), lambda s: s.respond("new", {"start2": 8.0})),
    ],
    "context-not-a-mapping": [
        (dtr.ObservationError, ("[12.0, -0.5]",), lambda s: s.enroll("u", [12.0, -0.5])),  # type: ignore[arg-type]
        (dtr.ObservationError, ("3",), lambda s: s.respond("new", 3)),  # type: ignore[arg-type]
    ],
    "text-value": [
        (
            dtr.ObservationError,
            ("'u'", "'start1'", "'12'", "str"),
            lambda s: s.enroll("u", odd(start1="12")),
        ),
        (dtr.ObservationError, ("None",), lambda s: s.enroll("u", odd(start1=None))),
    ],
    "boolean-value": [(dtr.ObservationError, ("True", "bool"), lambda s: s.enroll("u", {**CONTEXT, "start1": True}))],
    "nan": [(dtr.ObservationError, ("'slope1'", "nan"), lambda s: s.enroll("u", {**CONTEXT, "slope1": np.nan}))],
    "infinity": [
        (dtr.ObservationError, ("'end1'", "inf"), lambda s: s.respond("new", {"start2": 9.0, "end1": np.inf})),
    ],
    "huge-value": [(dtr.ObservationError, ("1e+300", "1e+100"), lambda s: s.enroll("u", {**CONTEXT, "start1": 1e300}))],
    "huge-product": [
        (dtr.ObservationError, ("'u'", "start1:slope1"), lambda s: s.enroll("u", {"start1": 1e90, "slope1": 1e90})),
    ],
    "inexact-integer": [
        (dtr.ObservationError, (str(2**53 + 1),), lambda s: s.enroll("u", {**CONTEXT, "start1": 2**53 + 1})),
        (dtr.ObservationError, ("int",), lambda s: s.enroll("u", {**CONTEXT, "start1": 10**400})),
    ],
    "nan-outcome": [
        (dtr.ObservationError, ("'entered'", "outcome", "nan"), lambda s: s.complete("entered", np.nan)),
        (dtr.ObservationError, ("'good'",), lambda s: s.complete("entered", "good")),  # type: ignore[arg-type]
        (dtr.ObservationError, ("inf",), lambda s: s.correct("done", outcome=np.inf, reason="typo")),
    ],
    "bad-unit-id": [
        (dtr.ObservationError, ("''",), lambda s: s.enroll("", CONTEXT)),
        (dtr.ObservationError, ("7",), lambda s: s.enroll(7, CONTEXT)),  # type: ignore[arg-type]
        (dtr.ObservationError, ("200",), lambda s: s.enroll("x" * 201, CONTEXT)),
        (dtr.ObservationError, ("' u'", "spaces"), lambda s: s.enroll(" u", CONTEXT)),
        (dtr.ObservationError, ("'new '", "spaces"), lambda s: s.enroll("new ", CONTEXT)),
        (dtr.ObservationError, ("printable",), lambda s: s.enroll("a\nb", CONTEXT)),
        (dtr.ObservationError, ("printable",), lambda s: s.enroll("\ud800", CONTEXT)),
    ],
    "bad-site": [
        (dtr.ObservationError, ("site", "1 to 60", repr(site)), lambda s, site=site: s.enroll("u", CONTEXT, site=site))  # type: ignore[misc]
        for site in ("", " north", "a\nb", 7)
    ],
    "another-site": [
        (dtr.ProtocolError, ("'new'", "another site than 'north'"), lambda s: s.enroll("new", CONTEXT, site="north")),
    ],
    "held-site": [
        (
            dtr.ProtocolError,
            ("'u'", "held at site 'north'", "(no staff)", "release(site='north')"),
            lambda s: on_hold(s, "north").enroll("u", CONTEXT, site="north"),
        ),
    ],
    "empty-reason": [
        (dtr.ObservationError, ("'new'", "reason"), lambda s: s.unblind("new", reason=" ")),
        (dtr.ObservationError, ("'new'", "reason"), lambda s: s.withdraw("new", reason=" ")),
        (dtr.ObservationError, ("reason",), lambda s: s.override("new", "other", reason="")),
        (dtr.ObservationError, ("reason",), lambda s: s.correct("done", outcome=1.0, reason=None)),  # type: ignore[arg-type]
        (dtr.ObservationError, ("hold", "reason", "' '"), lambda s: s.hold(reason=" ")),
        (dtr.ObservationError, ("'done'", "reason"), lambda s: s.void("done", reason="")),
        (dtr.ObservationError, ("close_arm", "reason", "''"), lambda s: s.close_arm("first", "other", reason="")),
        (dtr.ObservationError, ("release", "reason", "3"), lambda s: s.release(reason=3)),  # type: ignore[arg-type]
    ],
    "unknown-unit": [
        (dtr.ProtocolError, ("'nobody'", "enroll"), lambda s: s.respond("nobody", {"end1": 3.0})),
        (dtr.ProtocolError, ("'nobody'",), lambda s: s.complete("nobody", 1.0)),
        (dtr.ProtocolError, ("'nobody'",), lambda s: s.withdraw("nobody", reason="lost")),
        (dtr.ProtocolError, ("'nobody'",), lambda s: s.void("nobody", reason="not eligible")),
        (dtr.ProtocolError, ("'nobody'",), lambda s: s.unblind("nobody", reason="an emergency")),
        (dtr.ProtocolError, ("'nobody'",), lambda s: s.override("nobody", "other", reason="allergy")),
        (dtr.ProtocolError, ("'nobody'",), lambda s: s.correct("nobody", outcome=1.0, reason="typo")),
    ],
    "second-enrolment": [
        (
            dtr.ProtocolError,
            ("'new'", "12.0", "13.0", "correct()"),
            lambda s: s.enroll("new", {**CONTEXT, "start1": 13}),
        ),
    ],
    "second-response": [
        (dtr.ProtocolError, ("'done'", "9.0", "10.0"), lambda s: s.respond("done", {"start2": 10.0, "end1": 8.0})),
        (dtr.ProtocolError, ("'left'", "3.0", "2.0"), lambda s: s.respond("left", {"end1": 2.0})),
    ],
    "second-outcome": [(dtr.ProtocolError, ("'done'", "-8.0", "-7.0"), lambda s: s.complete("done", -7.0))],
    "second-withdrawal": [(dtr.ProtocolError, ("'gone'", "moved away"), lambda s: s.withdraw("gone", reason="ill"))],
    "outcome-before-its-stage": [
        (dtr.ProtocolError, ("'new'", "response", "'second'", "start2"), lambda s: s.complete("new", 1.0)),
    ],
    "response-after-withdrawal": [
        (dtr.ProtocolError, ("'gone'", "withdrawn"), lambda s: s.respond("gone", {"start2": 9.0, "end1": 8.0})),
    ],
    "outcome-after-withdrawal": [(dtr.ProtocolError, ("'gone'", "withdrawn"), lambda s: s.complete("gone", 1.0))],
    "withdrawal-after-outcome": [
        (dtr.ProtocolError, ("'done'", "complete"), lambda s: s.withdraw("done", reason="lost"))
    ],
    "response-after-leaving": [
        (dtr.ProtocolError, ("'left'", "left early"), lambda s: s.respond("left", {"start2": 9.0, "end1": 8.0})),
    ],
    "unknown-response-stage": [
        (dtr.ProtocolError, ("'third'", "'second'"), lambda s: s.respond("new", {"end1": 1.0}, stage="third")),
        (dtr.ProtocolError, ("'first'",), lambda s: s.respond("new", CONTEXT, stage="first")),
        (dtr.ProtocolError, ("awaits its outcome",), lambda s: s.respond("entered", {"weight": 1.0})),
    ],
    "unknown-arm": [
        (dtr.ProtocolError, ("'new'", "'placebo'", "ssri"), lambda s: s.override("new", "placebo", reason="error")),
    ],
    "infeasible-arm": [
        (
            dtr.ProtocolError,
            ("'done'", "'ssri'", "['other']"),
            lambda s: s.override("done", "ssri", reason="wrong box"),
        ),
        (
            dtr.ProtocolError,
            ("'entered'", "'other'", "['ssri']"),
            lambda s: s.override("entered", "other", reason="wrong box", stage="first"),
        ),
    ],
    "override-with-the-same-arm": [
        (dtr.ProtocolError, ("'new'", "'ssri'", "nothing"), lambda s: s.override("new", "ssri", reason="checked")),
        (dtr.ProtocolError, ("'second'",), lambda s: s.override("new", "other", reason="x", stage="second")),
    ],
    "nothing-to-correct": [
        (dtr.ProtocolError, ("'new'", "no outcome"), lambda s: s.correct("new", outcome=1.0, reason="typo")),
        (
            dtr.ProtocolError,
            ("'second'",),
            lambda s: s.correct("new", stage="second", context={"end1": 7.0}, reason="typo"),
        ),
        (dtr.ProtocolError, ("already",), lambda s: s.correct("done", outcome=-8.0, reason="typo")),
        (
            dtr.ProtocolError,
            ("already",),
            lambda s: s.correct("done", stage="second", context={"end1": 8}, reason="typo"),
        ),
    ],
    "correction-of-what": [
        (dtr.ProtocolError, ("either",), lambda s: s.correct("done", reason="typo")),
        (
            dtr.ProtocolError,
            ("either",),
            lambda s: s.correct("done", outcome=1.0, stage="first", context=CONTEXT, reason="t"),
        ),
        (dtr.ProtocolError, ("either",), lambda s: s.correct("done", context=CONTEXT, reason="typo")),
    ],
    "correction-changes-entry": [
        (
            dtr.ProtocolError,
            ("'done'", "left before", "stays as it is"),
            lambda s: s.correct("done", stage="second", context={"end1": 2.0}, reason="typo"),
        ),
        (
            dtr.ProtocolError,
            ("'left'", "entered"),
            lambda s: s.correct("left", stage="second", context={"end1": 20.0}, reason="typo"),
        ),
    ],
    "unknown-stage": [(dtr.DesignError, ("'third'", "first"), lambda s: s.q_hat("third", {}))],
    "malformed-formula": [
        (dtr.DesignError, ("position 6", "x**2"), lambda _: one_stage("1 + x**2")),
        (dtr.DesignError, ("position 1", "ends"), lambda _: one_stage("")),
        (dtr.DesignError, ("__import__",), lambda _: one_stage("__import__('os')")),
        (dtr.DesignError, ("C(",), lambda _: one_stage("C(later)")),
        (dtr.DesignError, ("once",), lambda _: one_stage("x:x")),
        (dtr.DesignError, ("6 factors",), lambda _: one_stage("a*b*c*d*e*f*g")),
        (dtr.DesignError, ("formula",), lambda _: one_stage(3)),
    ],
    "malformed-condition": [
        (dtr.DesignError, ("enter_if", "comparison"), lambda _: conditional("end1")),
        (dtr.DesignError, ("position 6",), lambda _: conditional("end1 = 5")),
        (dtr.DesignError, ("')'",), lambda _: conditional("(end1 > 5")),
        (dtr.DesignError, ("column",), lambda _: conditional("1 > 0")),
        (dtr.DesignError, ("nest",), lambda _: conditional("(" * 60 + "end1 > 5" + ")" * 60)),
        (dtr.DesignError, ("finite",), lambda _: conditional("end1 > 1e400")),
        (dtr.DesignError, ("compares columns", "'first' is a stage"), lambda _: conditional("first == 1")),
        (dtr.DesignError, ("'second' is a stage", "position 14"), lambda _: conditional("end1 > 5 and second > 1")),
        (
            dtr.DesignError,
            ("every enrolled unit",),
            lambda _: dtr.Design([dtr.Stage("s", arms=("a", "b"), features="x", enter_if="x > 0")]),
        ),
    ],
    "label-with-outer-spaces": [
        (dtr.DesignError, ("'first '", "write 'first'"), lambda _: dtr.Stage("first ", ("a", "b"), "1")),
        (dtr.DesignError, ("arms", "' ssri'", "write 'ssri'"), lambda _: dtr.Stage("s", ("ssri", " ssri"), "1")),
        (dtr.DesignError, ("columns", "'age '"), lambda _: dtr.Stage("s", ("a", "b"), "1", columns=("age ",))),
        (dtr.DesignError, ("name", "' s'"), lambda _: from_toml(f'[[stage]]\nname = " s"\n{REST}')),
    ],
    "oversized-design": [
        (dtr.DesignError, ("'last'", "256 features", str(64**6 + 1)), lambda _: many_features(":")),
        (dtr.DesignError, ("'last'", "256 features", str(64**6)), lambda _: many_features("*")),
        (dtr.DesignError, ("256 features",), lambda _: one_stage(" + ".join(f"x{j}" for j in range(300)))),
        (dtr.DesignError, ("'s'", "arms", "64", "65"), lambda _: dtr.Stage("s", arms_of(65), "1")),
        (
            dtr.DesignError,
            ("20 stages", "21"),
            lambda _: dtr.Design([dtr.Stage(f"s{m}", ("a",), "1") for m in range(21)]),
        ),
        (dtr.DesignError, ("10000 plans", "plans="), lambda _: dtr.Design(many_stages(3))),
        (
            dtr.DesignError,
            ("1 to 10000 plans",),
            lambda _: dtr.Design(many_stages(2), plans=[("arm 0", "arm 0")] * 10_001),
        ),
        (dtr.DesignError, ("features", "10000 characters", "10001"), lambda _: one_stage("x" * 10_001)),
        (dtr.DesignError, ("enter_if", "10000 characters"), lambda _: conditional("end1 > 5" + " " * 10_000)),
    ],
    "number-beyond-floats": [
        (
            dtr.DesignError,
            ("'s'", "expected_days", "above 0"),
            lambda _: dtr.Stage("s", ("a",), "1", expected_days=10**400),
        ),
        (dtr.DesignError, ("too large",), lambda _: dtr.Stage("s", ("a",), "1", expected_days=10**5000)),
        (dtr.DesignError, ("number", "finite"), lambda _: values.real(10**400, "number", low=0)),
        (dtr.DesignError, ("number", "finite"), lambda _: values.positive(10**400, "number")),
        (dtr.DesignError, ("number", "too large"), lambda _: values.positive(10**5000, "number")),
        (dtr.DesignError, ("number[1]",), lambda _: values.each((1, 10**400), "number", values.positive)),
        (dtr.DesignError, ("number", "7"), lambda _: values.whole(8, "number", low=1, high=7)),
    ],
    "infeasible-plan": [
        (dtr.DesignError, ("ssri", "second"), lambda _: dtr.Design(stages(), plans=[("ssri",)])),
        (dtr.DesignError, ("'placebo'", "'first'"), lambda _: dtr.Design(stages(), plans=[("placebo", "ssri")])),
        (dtr.DesignError, ("different",), lambda _: dtr.Design(stages(), plans=[*PLANS, PLANS[0]])),
        (dtr.DesignError, ("['other']", "no plan"), lambda _: dtr.Design(stages(), plans=PLANS[:1])),
        (dtr.DesignError, ("1 to",), lambda _: dtr.Design(stages(), plans=[])),
    ],
    "malformed-toml": [
        (dtr.DesignError, ("line 2",), lambda _: from_toml("plans = []\nstage = = 3")),
        (dtr.DesignError, ("'stage' is missing",), lambda _: from_toml("plans = []")),
        (
            dtr.DesignError,
            ("'arm'", "arms"),
            lambda _: from_toml('[[stage]]\nname="s"\narms=["a"]\nfeatures="x"\narm=1'),
        ),
        (dtr.DesignError, ("cannot read",), lambda _: dtr.Design.from_toml("no/such/file.toml")),
        (dtr.DesignError, ("cannot read", "null"), lambda _: dtr.Design.from_toml("design\0.toml")),
        (dtr.DesignError, ("design.toml", "deeply"), lambda _: from_toml("plans = " + "[" * 5000 + "]" * 5000)),
        (dtr.DesignError, ("design.toml", "digits"), lambda _: from_toml("plans = " + "9" * 5000)),
        (dtr.DesignError, ("plans", "too large"), lambda _: from_toml("stage = []\nplans = 0x" + "f" * 5000)),
        (dtr.DesignError, ("stage", "found"), lambda _: from_toml("stage" + ".a" * 5000 + " = 1")),
        (dtr.DesignError, ("name", "found"), lambda _: from_toml(f"[[stage]]\nname{'.a' * 5000} = 1\n{REST}")),
        (dtr.DesignError, ("UTF-8",), lambda _: from_toml('plans = "\udce4"')),
        (dtr.DesignError, ("different",), lambda _: from_toml('[[stage]]\nname="s"\narms=["a","a"]\nfeatures="x"')),
    ],
    "bad-policy": [
        (dtr.DesignError, ("q", "0"), lambda _: dtr.DTRBandit(q=0, delta=1.0)),
        (dtr.DesignError, ("q", "1.5"), lambda _: dtr.DTRBandit(q=1.5, delta=1.0)),  # type: ignore[arg-type]
        (dtr.DesignError, ("delta", "-1"), lambda _: dtr.DTRBandit(q=1, delta=-1.0)),
        (dtr.DesignError, ("schedule",), lambda _: dtr.DTRBandit(q=1, delta=1.0, schedule="random")),  # type: ignore[arg-type]
        (
            dtr.DesignError,
            ("3 numbers", "2 stages"),
            lambda s: dtr.Session(s.design, dtr.DTRBandit(q=1, delta=(1, 1, 1))),
        ),
        (dtr.DesignError, ("epsilon", "1.2"), lambda _: dtr.EpsilonGreedy(epsilon=1.2)),
        (dtr.DesignError, ("floor", "-0.1"), lambda _: dtr.Greedy(floor=-0.1)),
        (
            dtr.DesignError,
            ("floor", "at most 0.5", "2 arms", "0.6"),
            lambda s: dtr.Session(s.design, dtr.DTRBandit(q=1, delta=1.0, floor=0.6)),
        ),
        (dtr.DesignError, ("beta", "suggested_beta"), lambda s: dtr.Session(s.design, dtr.LSVIUCB())),
        (dtr.DesignError, ("leavers",), lambda _: dtr.LSVIUCB(beta=1.0, leavers="no")),  # type: ignore[arg-type]
        (dtr.DesignError, ("bound",), lambda s: dtr.Session(s.design, dtr.LSVIUCB(beta=1.0, bound=(1.0, (1.0,))))),
        (dtr.DesignError, ("'placebo'",), lambda s: dtr.Session(s.design, regime(first="placebo"))),
        (
            dtr.DesignError,
            ("3 coefficients",),
            lambda s: dtr.Session(s.design, regime(first={"ssri": [1], "other": [0]})),
        ),
    ],
    "bad-seed": [
        (dtr.DesignError, ("-1",), lambda s: dtr.Session(s.design, dtr.Greedy(), seed=-1)),
        (dtr.DesignError, ("1.5",), lambda s: dtr.Session(s.design, dtr.Greedy(), seed=1.5)),  # type: ignore[arg-type]
    ],
    "policy-breaks-contract": [
        (dtr.DesignError, ("arm 7", "feasible"), lambda s: lawless(s.design).enroll("u", CONTEXT))
    ],
    "no-command": [
        (dtr.ProtocolError, ("'enroll'", "Enroll, Respond"), lambda s: s.answer("enroll")),  # type: ignore[arg-type]
        (dtr.ProtocolError, ("None", "session.answer"), lambda s: s.believe(None)),  # type: ignore[arg-type]
        (dtr.ProtocolError, ("0 to 18", "99"), lambda s: s.since(99)),
    ],
    "enrolment-while-held": [
        (dtr.ProtocolError, ("'u'", "held (a safety signal)", "release()"), lambda s: on_hold(s).enroll("u", CONTEXT)),
    ],
    "void-unit": [
        (dtr.ProtocolError, ("'done'", "voided (not eligible)"), lambda s: voided(s).complete("done", -8.0)),
        (dtr.ProtocolError, ("'done'", "another id"), lambda s: voided(s).enroll("done", CONTEXT)),
        (dtr.ProtocolError, ("voided already (not", "'a joke'"), lambda s: voided(s).void("done", reason="a joke")),
    ],
    "exclusion-not-arms": [
        (
            dtr.ObservationError,
            ("'u'", "mapping", "'ssri'"),
            lambda s: s.enroll("u", CONTEXT, exclude="ssri", reason="allergy"),  # type: ignore[arg-type]
        ),
        (
            dtr.ObservationError,
            ("'u'", "'first'", "list of arms", "['ssri', 'other']"),
            lambda s: s.enroll("u", CONTEXT, exclude={"first": "ssri"}, reason="allergy"),
        ),
        (dtr.ObservationError, ("u", "reason"), lambda s: s.enroll("u", CONTEXT, exclude={"first": ["ssri"]})),
    ],
    "exclusion-of-nothing": [
        (
            dtr.ProtocolError,
            ("'u'", "'third'", "['first', 'second']"),
            lambda s: s.enroll("u", CONTEXT, exclude={"third": ["ssri"]}, reason="allergy"),
        ),
        (
            dtr.ProtocolError,
            ("'u'", "'x'", "'first'", "['ssri', 'other']"),
            lambda s: s.enroll("u", CONTEXT, exclude={"first": ["x"]}, reason="allergy"),
        ),
        (
            dtr.ProtocolError,
            ("'new'", "'first' is decided", "override()"),
            lambda s: s.respond("new", {"start2": 9.0, "end1": 8.0}, exclude={"first": ["ssri"]}, reason="allergy"),
        ),
        (dtr.ProtocolError, ("'u'", "nothing is excluded"), lambda s: s.enroll("u", CONTEXT, reason="allergy")),
    ],
    "nothing-left": [
        (
            dtr.ProtocolError,
            ("'u'", "no arm is left", "'first'", "cannot take part"),
            lambda s: s.enroll("u", CONTEXT, exclude={"first": ["ssri", "other"]}, reason="allergy"),
        ),
        (
            dtr.ProtocolError,
            ("'new'", "exclusions none", "'other'"),
            lambda s: s.enroll("new", CONTEXT, exclude={"first": ["other"]}, reason="allergy"),
        ),
    ],
    "closing-too-much": [
        (dtr.ProtocolError, ("'third'", "['first', 'second']"), lambda s: s.close_arm("third", "ssri", reason="harm")),
        (dtr.ProtocolError, ("'x'", "['ssri', 'other']"), lambda s: s.close_arm("first", "x", reason="harm")),
        (
            dtr.ProtocolError,
            ("'other'", "'second'", "last that is feasible after other", "close what leads there"),
            lambda s: s.close_arm("second", "other", reason="harm"),
        ),
        (
            dtr.ProtocolError,
            ("closed already (harm)", "'cost'"),
            lambda s: closed(s).close_arm("first", "other", reason="cost"),
        ),
        (
            dtr.ProtocolError,
            ("unit 'allergic', which is under way", "withdraw first"),
            lambda s: allergic(s).close_arm("second", "ssri", reason="harm"),
        ),
    ],
    "taught-unit": [
        (
            dtr.ProtocolError,
            ("'e1'", "earlier trial", "open a new session"),
            lambda s: taught(s).void("e1", reason="no"),
        ),
        (dtr.ProtocolError, ("'e1'", "earlier trial"), lambda s: taught(s).correct("e1", outcome=1.0, reason="no")),
        (dtr.ProtocolError, ("'e1'", "earlier trial"), lambda s: taught(s).override("e1", "other", reason="no")),
        (dtr.ProtocolError, ("'e1'", "earlier trial"), lambda s: taught(s).complete("e1", 1.0)),
    ],
    "taught-too-late": [
        (dtr.LogError, ("'e2'", "before anything happens", "prior="), lambda s: s.follow([lesson("e2")])),
        (dtr.LogError, ("'e1'", "has taught already"), lambda s: taught(s).follow([lesson("e1")])),
    ],
    "prior-is-none": [
        (
            dtr.DesignError,
            ("prior=", "Cohort", "'trial.csv'"),
            lambda s: dtr.Session(s.design, s.policy, prior="trial.csv"),  # type: ignore[arg-type]
        ),
    ],
    "newer-format": [
        (dtr.LogError, ("format 9", "up to 3", "newer release"), lambda _: decode('{"event":"Held","format":9}')),
    ],
    "held-twice": [
        (
            dtr.ProtocolError,
            ("held already (a safety signal)", "'no staff'"),
            lambda s: on_hold(s).hold(reason="no staff"),
        ),
        (dtr.ProtocolError, ("never held", "'no staff'"), lambda s: s.release(reason="no staff")),
        (dtr.ProtocolError, ("'north'", "never held"), lambda s: on_hold(s).release(reason="x", site="north")),
    ],
    "stale-reply": [
        (dtr.Conflict, ("version 1,", "version 18;", "follow"), lambda s: s.believe(stale(s))),
    ],
    "refused-tail": [
        (dtr.LogError, ("event 19", "'u'", "round is 6"), lambda s: s.follow(another_future(s)[2:])),
        (dtr.LogError, ("ends after event 19",), lambda s: s.follow(another_future(s)[:1])),
        (dtr.LogError, ("event 20", "Enrolled", "'t'", "held"), lambda s: on_hold(s).follow(another_future(s))),
        (dtr.LogError, ("event 20", "Decision"), lambda s: s.follow([*another_future(s)[:1], Assigned("a")])),  # type: ignore[arg-type]
    ],
    "log-of-other-numerics": [
        (
            dtr.LogError,
            ("numerics 99", "release"),
            lambda s: of_numerics(99, s).enroll("v", CONTEXT),
        ),
    ],
    "log-of-other-design": [
        (dtr.LogError, ("opened with",), lambda s: dtr.Session.resume(s.log, policy=dtr.DTRBandit(q=2, delta=1.0))),
        (dtr.LogError, ("opened with",), lambda s: dtr.Session.resume(s.log, design=dtr.Design(stages()))),
    ],
    "truncated-log": [
        (dtr.LogError, ("ends after event 2",), lambda s: dtr.Session.resume(s.log[:2])),
        (dtr.LogError, ("NoneType",), lambda _: dtr.Session.resume([])),
        (dtr.LogError, ("Enrolled",), lambda s: dtr.Session.resume(s.log[1:])),
    ],
    "reordered-log": [
        (dtr.LogError, ("event 2",), lambda s: dtr.Session.resume(swapped(s.log, 1, 2))),
        (dtr.LogError, ("event 2",), lambda s: dtr.Session.resume(swapped(s.log, 1, 3))),
        (dtr.LogError, ("event 4",), lambda s: dtr.Session.resume([*s.log[:3], *s.log[1:]])),
        (dtr.LogError, ("event 4",), lambda s: dtr.Session.resume([*s.log[:3], *s.log[5:]])),
        (dtr.LogError, ("once",), lambda s: dtr.Session.resume([*s.log, s.log[0]])),
    ],
    "damaged-log": [
        (dtr.LogError, ("event 3", "'placebo'"), lambda s: dtr.Session.resume(with_arm(s.log, "placebo"))),
    ],
    "altered-log": [
        (dtr.LogError, ("event 3", "lead to"), lambda s: dtr.verify(with_arm(s.log, "other"))),
    ],
}


def odd(**values: Any) -> dict[str, Any]:
    return {**CONTEXT, **values}


def one_stage(features: object) -> dtr.Design:
    return dtr.Design([dtr.Stage("s", arms=("a", "b"), features=features)])  # type: ignore[arg-type]


def conditional(enter_if: str) -> dtr.Design:
    return dtr.Design([stages()[0], dtr.Stage("second", arms=("a",), features="1", enter_if=enter_if)])


def from_toml(text: str) -> dtr.Design:
    path = Path("design.toml")
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return dtr.Design.from_toml(path)


def arms_of(number: int) -> tuple[str, ...]:
    return tuple(f"arm {arm}" for arm in range(number))


def many_stages(number: int) -> list[dtr.Stage]:
    return [dtr.Stage(f"s{m}", arms_of(64), "1") for m in range(number)]


def many_features(sign: str) -> dtr.Design:
    """Try a short formula that stands for 64⁶ features."""
    last = dtr.Stage("last", arms_of(64), sign.join(f"C(s{m})" for m in range(6)))
    return dtr.Design([*many_stages(6), last], plans=[[arm] * 7 for arm in arms_of(64)])


def regime(**first: Any) -> dtr.FixedRegime:
    return dtr.FixedRegime(rule={"second": "other", **first})


def of_numerics(numerics: int, session: dtr.Session) -> dtr.Session:
    """Return the same session, as another release wrote it."""
    opened = session.log[0]
    assert isinstance(opened, Opened)
    return dtr.Session.resume([opened._replace(numerics=numerics), *session.log[1:]])


def closed(session: dtr.Session) -> dtr.Session:
    """Return the same session, with an arm closed."""
    elsewhere = dtr.Session.resume(session.log)
    elsewhere.close_arm("first", "other", reason="harm")
    return elsewhere


def allergic(session: dtr.Session) -> dtr.Session:
    """Return the same session, with a unit that can have only one arm at its next stage."""
    elsewhere = dtr.Session.resume(session.log)
    elsewhere.enroll("allergic", CONTEXT, exclude={"second": ["other"]}, reason="allergy")
    return elsewhere


def on_hold(session: dtr.Session, site: str | None = None) -> dtr.Session:
    """Return the same session, held."""
    elsewhere = dtr.Session.resume(session.log)
    elsewhere.hold(reason="a safety signal" if site is None else "no staff", site=site)
    return elsewhere


def lesson(unit: str) -> Taught:
    """Return what a unit of an earlier trial teaches."""
    return Taught(unit, (CONTEXT,), ("ssri",), None)


def taught(session: dtr.Session) -> dtr.Session:
    """Return a session of the same design that an earlier trial has taught."""
    return dtr.Session.resume([session.log[0], lesson("e1")])


def voided(session: dtr.Session) -> dtr.Session:
    """Return the same session, in which a unit is void."""
    elsewhere = dtr.Session.resume(session.log)
    elsewhere.void("done", reason="not eligible")
    return elsewhere


def lawless(design: dtr.Design) -> dtr.Session:
    @dataclass
    class Lawless:
        def init(self, design: dtr.Design) -> None: ...

        def update(self, state: None, history: History, event: Fact) -> None: ...

        def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
            return Choice(7, "because", (0.0, 1.0))

    return dtr.Session(design, Lawless())


def stale(session: dtr.Session) -> dtr.Reply:
    """Return the reply of a session that has the same beginning only."""
    return dtr.Session.resume(session.log[:1]).answer(dtr.Enroll("u", CONTEXT))


def another_future(session: dtr.Session) -> list[Event]:
    """Return what a session could go on with: two enrolments and their decisions."""
    elsewhere = dtr.Session.resume(session.log)
    for unit in ("t", "u"):
        elsewhere.enroll(unit, CONTEXT)
    return list(elsewhere.since(session.version))


def swapped(log: Sequence[Event], i: int, j: int) -> list[Event]:
    events = list(log)
    events[i], events[j] = events[j], events[i]
    return events


def with_arm(log: Sequence[Event], arm: str) -> list[Event]:
    """Return the log with another arm in its first decision."""
    assigned = log[2]
    assert isinstance(assigned, Assigned)
    return [*log[:2], Assigned(assigned.decision._replace(arm=arm)), *log[3:]]


@contextmanager
def unchanged(session: dtr.Session) -> Iterator[None]:
    """Demand that the log and the next decisions stay as they are."""
    log, twin = session.log, dtr.Session.resume(session.log)
    yield
    assert session.log == log
    assert session.coefficients() == twin.coefficients()
    assert session.enroll("next", CONTEXT) == twin.enroll("next", CONTEXT)


@pytest.mark.parametrize(
    ("error", "says", "attempt"),
    [pytest.param(*row, id=f"{key}-{i}") for key, rows in ATTEMPTS.items() for i, row in enumerate(rows)],
)
def test_bad_input_is_refused_and_changes_nothing(
    error: type[Exception],
    says: tuple[str, ...],
    attempt: Attempt,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    session = started()

    with unchanged(session), pytest.raises(error) as raised:
        attempt(session)

    for words in says:
        assert words in str(raised.value)


def test_every_row_of_the_table_in_the_docs_has_a_test() -> None:
    rows = re.findall(r"^\| ([a-z-]+) \| .*`(\w+Error|Conflict)`", DOCS.read_text(), flags=re.MULTILINE)

    assert {key for key, _ in rows} == set(ATTEMPTS)
    for key, name in rows:
        assert {error.__name__ for error, _, _ in ATTEMPTS[key]} == {name}


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text[:-20], "cut off"),
        (lambda text: "".join(text.splitlines(keepends=True)[::-1]), "sequence number"),
        (lambda text: text.replace('{"context"', '{"sequence":9,"context"', 1), "'sequence' twice"),
        (lambda text: text.replace("12.0", "NaN"), "NaN"),
        (lambda text: "".join(text.splitlines(keepends=True)[:3] + text.splitlines(keepends=True)[4:]), "line 4"),
        (lambda text: text.replace("Enrolled", "Enroled"), "unknown event 'Enroled'"),
        (lambda text: text.replace('"round"', '"rund"'), "damaged Enrolled"),
        (lambda text: text.replace('"sequence":1}', '"sequence":true}'), "sequence number True"),
        (
            lambda text: text.replace('"start1":12.0', '"start1":"12.0"', 1),
            "line 2: Enrolled, field 'context'['start1']",
        ),
        (lambda text: text.replace('"start1":12.0', '"start1":' + "[" * 5000 + "]" * 5000, 1), "line 2: "),
        (lambda text: text.replace("moved away", "moved \udce4way"), "line 18: not valid UTF-8"),
        (lambda text: "[1]\n" + text, "JSON object"),
        (lambda text: "{\n" + text, "not valid JSON"),
    ],
)
def test_a_damaged_log_file_is_refused_with_its_line(damage: Callable[[str], str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(damage(plain_text(started().log)), encoding="utf-8", errors="surrogateescape")

    with pytest.raises(dtr.LogError, match=re.escape(says)):
        dtr.Session.resume(dtr.read_log(path))
