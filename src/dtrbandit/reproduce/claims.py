"""Claims and their verdicts: a claim holds, is refuted, or cannot be told.

A verdict compares an interval with what is allowed. Wholly within: the claim holds, that is, it is shown. Wholly
outside: it is refuted. Otherwise, and where there is no valid interval, it cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

Name = TypeVar("Name")


class Verdict(StrEnum):
    """What the data say of a claim; only the first is a tick."""

    HOLDS = "holds"
    REFUTED = "refuted"
    OPEN = "cannot be told"

    @property
    def mark(self) -> str:
        """One character for tables."""
        return {Verdict.HOLDS: "✓", Verdict.REFUTED: "✗", Verdict.OPEN: "?"}[self]


class Whose(StrEnum):
    """Who says so."""

    PAPER = "the paper's"
    OURS = "ours"


class Claim(NamedTuple):
    """A sentence, what was measured, what is allowed, the verdict, and whether the paper says so or we do.

    Examples
    --------
    >>> ratio = Measured(1.05, 1.01, 1.09)
    >>> Claim("It learns", f"{ratio:.2f}", "below 1.23", judged(ratio, below=1.23)).holds
    True
    """

    claim: str
    measured: str
    allowed: str
    verdict: Verdict
    whose: Whose = Whose.PAPER

    @property
    def holds(self) -> bool:
        """Whether it is shown."""
        return self.verdict is Verdict.HOLDS

    @property
    def refuted(self) -> bool:
        """Whether its contrary is shown."""
        return self.verdict is Verdict.REFUTED

    def record(self) -> dict[str, object]:
        """Return it as an entry of a JSON document."""
        return {
            "claim": self.claim,
            "measured": self.measured,
            "allowed": self.allowed,
            "holds": self.holds,
            "verdict": str(self.verdict),
            "whose": str(self.whose),
        }


class Measured(NamedTuple):
    """A number with its interval; NaN limits where no interval is valid, and then ``remark`` says why.

    Examples
    --------
    >>> f"{Measured(0.25, 0.125, 0.5):.0%}", f"{Measured(2.0, math.nan, math.nan, 'two paths'):.1f}"
    ('25% (12% to 50%)', '2.0 (two paths)')
    """

    value: float
    low: float
    high: float
    remark: str = ""

    def __format__(self, form: str) -> str:
        known = [] if math.isnan(self.low) else [f"{self.low:{form}} to {self.high:{form}}"]
        inside = ", ".join([*known, *([self.remark] if self.remark else [])])
        return f"{self.value:{form}} ({inside})"


def judged(found: Measured, *, above: float = -math.inf, below: float = math.inf) -> Verdict:
    """Judge whether a number lies above one limit and below another, by its interval.

    Examples
    --------
    >>> [str(judged(Measured(0.4, 0.3, high), below=0.5)) for high in (0.45, 0.55, math.nan)]
    ['holds', 'cannot be told', 'cannot be told']
    >>> str(judged(Measured(0.7, 0.6, 0.8), below=0.5))
    'refuted'
    """
    if found.high < above or found.low > below:
        return Verdict.REFUTED
    clears_low = above == -math.inf or found.low > above
    clears_high = below == math.inf or found.high < below
    known = not (math.isnan(found.low) or math.isnan(found.high))
    return Verdict.HOLDS if known and clears_low and clears_high else Verdict.OPEN


def exactly(true: bool) -> Verdict:
    """Judge what has no uncertainty."""
    return Verdict.HOLDS if true else Verdict.REFUTED


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge a claim of several parts: it holds if all hold, and is refuted if one is.

    Intervals of several parts are to hold together (``over_paths.each_of``), or one part in forty would be refuted by
    chance.
    """
    found = set(verdicts)
    return Verdict.REFUTED if Verdict.REFUTED in found else Verdict.OPEN if Verdict.OPEN in found else Verdict.HOLDS


def highest(found: Mapping[Name, Measured]) -> Name:
    """Return the name of the number whose upper limit is the highest, or which is, where there are no limits."""
    return max(found, key=lambda name: found[name].value if math.isnan(found[name].high) else found[name].high)
