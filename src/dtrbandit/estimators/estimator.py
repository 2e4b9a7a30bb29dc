"""What an estimator brings to the switch of the built-in policies: its arrays, and what it learns from a fact.

A new estimator is one file that ends with its ``Estimator``. A policy names that in its ``Rule``, and its rule asks the
estimator's kernels for values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Whole
from dtrbandit.kernels.compile import kernel


class Nothing(NamedTuple):
    """The beliefs of an estimator that has none."""


@dataclass(frozen=True)
class Estimator:
    """Beliefs as a named tuple of arrays, and the kernels that keep them up to date.

    Attributes
    ----------
    name
        By which the state of a policy knows its beliefs.
    create, grow
        Return the beliefs for a design before the first unit, and ``grow(beliefs, capacity, nodes)`` those with room
        for so many units, at so many nodes: copies of the tree are among them.
    learn
        ``learn(observed, beliefs, fact, unit, m)``: learn from a fact that is written down already.
    begin_anew
        ``begin_anew(observed, beliefs)``: learn everything again from what is written down.
    estimates
        ``estimates(design, observed, beliefs)``: return what is believed, for people to read.
    """

    name: str
    create: Callable[[Design], Any]
    grow: Callable[..., Any]
    learn: Callable[..., None]
    begin_anew: Callable[..., None]
    estimates: Callable[[Design, Observed, Any], Estimates]


@kernel
def learn_nothing(observed: Observed, beliefs: Nothing, fact: Whole, unit: Whole, m: Whole) -> None:
    """Learn nothing."""


@kernel
def begin_nothing(observed: Observed, beliefs: Nothing) -> None:
    """Have nothing to learn again."""


NO_ESTIMATOR = Estimator(
    "nothing",
    create=lambda _: Nothing(),
    grow=lambda beliefs, *_: beliefs,
    learn=learn_nothing,
    begin_anew=begin_nothing,
    estimates=lambda *_: Estimates(()),
)
