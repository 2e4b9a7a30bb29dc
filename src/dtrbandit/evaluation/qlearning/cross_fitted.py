"""The cross-fitted value that stands beside ``value_``: what it is, and who finds it.

It is found by scores of regimes, which the package ``values`` has. That package stands above this one, since it values
what Q-learning has learned. So ``values`` says here how such a value is found, when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.induction.induction import Dropouts


class CrossFitted(NamedTuple):
    """A value of regimes learned as this one was, its 95 % interval, and whose value it is; NaN with why otherwise."""

    value: float
    low: float
    high: float
    note: str


Finder = Callable[[Cohort, Dropouts], CrossFitted]
_FINDERS: list[Finder] = []


def finds_cross_fitted(finder: Finder) -> Finder:
    """Let a function find cross-fitted values from now on."""
    _FINDERS[:] = [finder]
    return finder


def cross_fitted_value(cohort: Cohort, dropouts: Dropouts) -> CrossFitted:
    """Return the cross-fitted value of the regime that a cohort suggests."""
    (finder,) = _FINDERS
    return finder(cohort, dropouts)
