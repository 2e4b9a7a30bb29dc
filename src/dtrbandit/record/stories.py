"""Which units have the same story but for its numbers: most of a long log is a few stories, told many times."""

from __future__ import annotations

from array import array

from dtrbandit.record.packed import ANY, COMPLETED, PackedLog

NONE = float("nan")  # no outcome yet


class Stories:
    """The story of each unit of a log as a number, brought up to date with what is new alone.

    A story goes on from a shorter one by a head (``record/packed.py``). So a number stands for a story, and what comes
    next leads to another number. An event that has no head in common with others makes a story that is one unit's own.

    Attributes
    ----------
    outcomes
        By round, from 1: the outcome as it was first recorded, NaN before.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.outcomes = array("d")
        self._numbers = array("I")  # of the units' stories, by round
        self._longer: dict[tuple[int, int], int] = {}  # by story and head
        self._told = 0  # how many stories there are
        self._place = 1  # up to which the log was followed

    def follow(self, log: PackedLog, most: int) -> bool:
        """Take in at most so many events that are new; say whether these were all."""
        stop = min(self._place + most, len(log))
        try:
            self._follow(log, stop)
        except BaseException:  # Ctrl-C too: an event that counted and was not noted would count again
            self._begin()
            raise
        return self._place == len(log)

    def _follow(self, log: PackedLog, stop: int) -> None:
        numbers, longer = self._numbers, self._longer
        for head, t, outcome in log.outlines(self._place, stop):
            if t > len(numbers):
                numbers.append(0)
                self.outcomes.append(NONE)
            if t:
                story = numbers[t - 1], head
                numbers[t - 1] = longer.get(story) or self._new(story)
            if head == COMPLETED:
                self.outcomes[t - 1] = outcome
        self._place = stop

    def _new(self, story: tuple[int, int]) -> int:
        self._told += 1
        if story[1] != ANY:
            self._longer[story] = self._told
        return self._told

    def alike(self) -> list[list[int]]:
        """Return the rounds of the units of each story, in the order of the first of them."""
        rounds: dict[int, list[int]] = {}
        for t, number in enumerate(self._numbers, 1):
            rounds.setdefault(number, []).append(t)
        return list(rounds.values())
