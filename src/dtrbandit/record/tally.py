"""What is counted of a trial, kept up to date by each fact: a summary reads it, and looks at no unit for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

COMPLETED, LEFT_AND_COMPLETED, WITHDRAWN, VOIDED, AWAITS_OUTCOME = range(5)  # states of units
AWAITS_STAGE = 5  # and the number of the stage, from 1, whose response comes next, less one
SCALE = 1074  # every float is a whole multiple of 2**-1074


def whole(number: float) -> int:
    """Return a float in units of 2**-1074, exactly.

    Examples
    --------
    >>> whole(0.1) + whole(0.2) - whole(0.1) == whole(0.2)
    True
    """
    numerator, denominator = number.as_integer_ratio()  # the denominator is a power of 2, at most 2**1074
    return numerator << SCALE + 1 - denominator.bit_length()


class Tally:
    """Counts of units by state, of arms given, of reasons and of amendments, and the sum of outcomes.

    Attributes
    ----------
    states
        How many units are in each state, by its number.
    given
        How often each arm was really given, by stage and arm.
    reasons
        How often each reason led to a decision, in the order in which they first came.
    overridden, corrected
        How many amendments there were of each kind.
    excluded, unblinded
        How many units have contraindications, and of how many somebody was shown the story.
    outcomes, total
        How many outcomes count, and their sum in units of 2**-1074. It is exact, so that their order does not matter.
    """

    COUNTS = ("overridden", "corrected", "excluded", "unblinded", "outcomes", "total")

    def __init__(self) -> None:
        self.states: Counter[int] = Counter()
        self.given: Counter[tuple[int, int]] = Counter()
        self.reasons: Counter[str] = Counter()
        self.overridden = self.corrected = self.excluded = self.unblinded = self.outcomes = self.total = 0

    @property
    def mean_outcome(self) -> float | None:
        """The mean of the outcomes that count, rounded once; None if there is none."""
        return self.total / (self.outcomes << SCALE) if self.outcomes else None

    def move(self, before: int, after: int) -> None:
        """Count a unit in another state."""
        self.states[before] -= 1
        self.states[after] += 1

    def count_decision(self, m: int, arm: int, reason: str) -> None:
        """Count an arm that is given at a stage, and the reason for it."""
        self.given[m, arm] += 1
        self.reasons[reason] += 1

    def count_outcome(self, before: float | None, after: float | None) -> None:
        """Let an outcome count in the place of another; None: no outcome."""
        if before is not None:
            self.outcomes -= 1
            self.total -= whole(before)
        if after is not None:
            self.outcomes += 1
            self.total += whole(after)

    def count_arms(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Let the arms of a unit count in the place of others."""
        for m, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                self.given[m, old] -= 1
                self.given[m, new] += 1

    def copy(self) -> Tally:
        """Return a copy, which stays as it is."""
        return Tally.from_dict(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        own = {name: str(getattr(self, name)) for name in self.COUNTS}  # a sum may be longer than JSON's numbers
        given = [[m, arm, count] for (m, arm), count in self.given.items()]
        return {**own, "states": [*self.states.items()], "given": given, "reasons": [*self.reasons.items()]}

    @staticmethod
    def from_dict(counts: Mapping[str, Any]) -> Tally:
        """Return the tally that ``to_dict`` describes."""
        tally = Tally()
        tally.states = Counter(dict(counts["states"]))
        tally.given = Counter({(m, arm): count for m, arm, count in counts["given"]})
        tally.reasons = Counter(dict(counts["reasons"]))
        for name in Tally.COUNTS:
            setattr(tally, name, int(counts.get(name, 0)))  # one that is new has counted nothing yet
        return tally
