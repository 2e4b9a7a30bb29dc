"""The facts and histories that a policy would have seen, had the units of a cohort come to it."""

from __future__ import annotations

from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.record.events import Completed, Enrolled, Responded
from dtrbandit.record.features import Context
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values


class CohortFacts:
    """The facts of a cohort's units, each in the round ``t`` that the caller names; ``arms[row]`` are its arms."""

    def __init__(self, cohort: Cohort) -> None:
        self.design, self.dropped_out = cohort.design, cohort.dropped_out
        self.arms = [tuple(arm for arm in arms if arm >= 0) for arms in cohort.arms.tolist()]
        self._contexts, self._features, self._outcome = cohort.contexts, cohort.features, cohort.outcome

    def arrived(self, row: int, t: int, m: int) -> tuple[History, Enrolled | Responded]:
        """Return a unit's history when it came to stage ``m``, which it enters or leaves at, and the fact of it."""
        enters, unit = m < len(self.arms[row]), f"u{t}"
        context = self._context(row, m)
        whole = len(context) == len(self.design.columns[m])
        history = self._history(row, t, m, m + 1 if whole else m, entered=enters)
        fact = Responded(unit, self.design.stages[m].name, context) if m else Enrolled(unit, t, context)
        return history, fact

    def given(self, row: int, t: int, m: int) -> History:
        """Return the history of a unit that was just given its arm of stage ``m``."""
        return self._history(row, t, m + 1, m + 1, entered=False)

    def end(self, row: int, t: int) -> tuple[History, Completed]:
        """Return a unit's history with its outcome, and the fact of it."""
        outcome = float(self._outcome[row])
        m = len(self.arms[row])
        last = self.arrived(row, t, m)[0] if m < len(self.design.stages) else self.given(row, t, m - 1)
        return last._replace(outcome=outcome), Completed(f"u{t}", outcome)

    def _history(self, row: int, t: int, m: int, seen: int, *, entered: bool) -> History:
        arms = self.arms[row][:m]
        node = self.design.tree.after(arms)
        features = tuple([self._features[k][row] for k in range(seen)])
        for psi in features:
            psi.flags.writeable = False
        return History(f"u{t}", t, node, features, arms, self.design.tree.feasible[node] if entered else (), None)

    def _context(self, row: int, m: int) -> Context:
        columns = self.design.columns[m]
        numbers = [float(self._contexts[m][column][row]) for column in columns]
        if all(number == number for number in numbers):
            return Values(columns, numbers)
        known = [(column, number) for column, number in zip(columns, numbers, strict=True) if number == number]
        return Values(tuple([column for column, _ in known]), [number for _, number in known])
