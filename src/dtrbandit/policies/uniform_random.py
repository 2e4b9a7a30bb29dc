"""Uniform randomisation: the benchmark that learns nothing, and the design of a plain SMART."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimator import NO_ESTIMATOR, Nothing
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.compiled_policy import CompiledPolicy
from dtrbandit.policies.rule import Rule
from dtrbandit.policies.sheet import CONTENDER, ONLY_FEASIBLE, PROPENSITY, UNIFORM, ArmAndReason, clear_sheet


@dataclass(frozen=True, kw_only=True)
class UniformRandom(CompiledPolicy):
    """Give every feasible arm of a stage the same probability.

    Examples
    --------
    >>> UniformRandom()
    UniformRandom()
    """

    @property
    def compiled_rule(self) -> Rule:
        """What it hands to the switch."""
        return RULE

    def memory(self, design: Design) -> Nothing:  # noqa: ARG002  # the same for every design
        """Return its memory: it has none."""
        return Nothing()


@kernel
def decide(
    observed: Observed, beliefs: Nothing, memory: Nothing,
    unit: Whole, m: Whole, node: Whole, psi: Vector, u: float, sheet: Matrix,
) -> ArmAndReason:  # fmt: skip
    """Draw one of the feasible arms; return it and the reason."""
    feasible = clear_sheet(observed.child, node, sheet)
    pick = int(u * feasible)
    arm, passed = np.int64(-1), 0
    for a in range(sheet.shape[1]):
        if sheet[CONTENDER, a] > 0.0:
            sheet[PROPENSITY, a] = 1.0 / feasible
            if passed == pick:
                arm = np.int64(a)
            passed += 1
    return arm, ONLY_FEASIBLE if feasible == 1 else UNIFORM


RULE = Rule(name="uniform_random", estimator=NO_ESTIMATOR, decide=decide)
