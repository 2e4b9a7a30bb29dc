"""The facts and histories that a policy would have seen, had the units of a cohort come to it."""

from __future__ import annotations

from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.record.events import Completed, Enrolled, Excluded, Responded
from dtrbandit.record.histories import Context, History
from dtrbandit.record.values import Values


class CohortFacts:
    """The facts of a cohort's units, each in the round ``t`` that the caller names; ``arms[row]`` are its arms."""

    def __init__(self, cohort: Cohort) -> None:
        self.design, self.dropped_out = cohort.design, cohort.dropped_out
        self.arms = [tuple(arm for arm in arms if arm >= 0) for arms in cohort.arms.tolist()]
        self._contexts, self._features, self._outcome = cohort.contexts, cohort.features, cohort.outcome
        self._barred = cohort.barred

    def arrived(self, row: int, t: int, m: int) -> tuple[History, Enrolled | Responded]:
        """Return a unit's history when it came to stage ``m``, which it enters or leaves at, and the fact of it."""
        enters, unit = m < len(self.arms[row]), f"u{t}"
        context = self._context(row, m)
        whole = len(context) == len(self.design.columns[m])
        history = self._history(row, t, m, m + 1 if whole else m, entered=enters)
        if m:
            return history, Responded(unit, self.design.stages[m].name, context)
        exclude = by_label(self.design, self._barred[row])
        return history, Enrolled(unit, t, context, exclude, "contraindicated" if exclude else None)

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
        barred = self._barred[row]
        feasible = arms_left(self.design.tree, barred)[node] if entered else ()
        excluded = (barred,) * (m + 1) if barred else ()
        return History(f"u{t}", t, node, features, arms, feasible, None, excluded)

    def _context(self, row: int, m: int) -> Context:
        columns = self.design.columns[m]
        numbers = [float(self._contexts[m][column][row]) for column in columns]
        if all(number == number for number in numbers):
            return Values(columns, numbers)
        known = [(column, number) for column, number in zip(columns, numbers, strict=True) if number == number]
        return Values(tuple([column for column, _ in known]), [number for _, number in known])


def by_label(design: Design, excluded: Barred) -> Excluded | None:
    """Return stages and arms, by number, as a log has them; None if there are none."""
    arms: dict[str, tuple[str, ...]] = {}
    for m, arm in excluded:
        stage = design.stages[m]
        arms[stage.name] = (*arms.get(stage.name, ()), stage.arms[arm])
    return arms or None
