"""What a built-in policy hands to the switch, and the kernels of one that notes nothing."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.estimators.estimator import NO_ESTIMATOR
from dtrbandit.estimators.observed import GIVEN
from dtrbandit.policies.builtin import RULES
from dtrbandit.policies.rule import Rule
from estimators.few_units import observed_units, small_design

ARGUMENTS = {
    "decide": ["observed", "beliefs", "memory", "unit", "m", "node", "psi", "u", "sheet"],
    "explain": ["observed", "beliefs", "memory", "unit", "m", "psi", "sheet"],
    "note": ["observed", "memory", "fact", "unit", "m", "value"],
    "settle": ["observed", "memory"],
    "suppose": ["observed", "memory", "unit", "m", "arm", "forced"],
    "retract": ["memory", "unit", "m"],
}


@pytest.mark.parametrize("kernel", ARGUMENTS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_switch_can_call_every_kernel_of_a_rule(rule: Rule, kernel: str) -> None:
    assert [*inspect.signature(getattr(rule, kernel)).parameters] == ARGUMENTS[kernel]


def test_by_default_a_rule_notes_nothing_and_has_nothing_to_take_back() -> None:
    seen, sheet = observed_units(small_design(), 2), np.ones((4, 2))
    before = [array.tobytes() for array in (*seen, sheet)]
    rule = Rule("quiet", NO_ESTIMATOR, decide=lambda *_: (0, 0))

    rule.explain(seen, (), (), 0, 0, np.ones(2), sheet)
    rule.note(seen, (), GIVEN, 0, 0, 1.0)
    rule.settle(seen, ())
    rule.suppose(seen, (), 0, 0, 1, True)
    rule.retract((), 0, 0)

    assert [array.tobytes() for array in (*seen, sheet)] == before
    assert rule.example == rule.grow((), 50) == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_memory_that_grows_keeps_its_types(rule: Rule) -> None:
    grown = rule.grow(rule.example, 100)

    assert [(array.dtype, array.ndim) for array in grown] == [(array.dtype, array.ndim) for array in rule.example]


@pytest.mark.parametrize(
    ("policy", "knows"),
    [(dtr.DTRBandit(q=1, delta=1.0), True), (dtr.Greedy(), True), (dtr.LSVIUCB(beta=1.0), False),
     (dtr.UniformRandom(), False)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_policies_with_plans_must_have_been_told_of_a_unit(policy: dtr.Greedy, knows: bool) -> None:
    assert policy.compiled_rule.knows_units is knows
