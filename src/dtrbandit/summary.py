"""Where a trial stands, in words and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Coefficients, Estimates
from dtrbandit.rank import scaled_rows
from dtrbandit.record.events import ArmClosed, Held, Overridden, Released, in_words
from dtrbandit.record.histories import Alike, Histories, UnitRecord
from dtrbandit.words import counted


class Coefficient(NamedTuple):
    """One coefficient of Q̂ and of Q̃; None while the arm has no estimate."""

    stage: str
    arm: str
    term: str
    hat: float | None
    tilde: float | None


class Gap(NamedTuple):
    """An arm whose estimate is not determined yet: which features, and how many more units are needed at least."""

    estimate: str  # "hat" or "tilde"
    stage: str
    arm: str
    features: tuple[str, ...]
    missing: int

    def __str__(self) -> str:
        units = counted(self.missing, "more unit")
        rounds = "" if self.estimate == "hat" else " in forced rounds"
        features = ", ".join("intercept" if name == "1" else name for name in self.features)
        return f"{self.arm} at stage {self.stage}: {features} (at least {units}{rounds})"


@dataclass(frozen=True)
class Summary:
    """Where a trial stands; printing it reads well.

    Attributes
    ----------
    status
        How many units are in each state.
    given
        For each stage, how often each arm was really given.
    reasons
        How often each reason led to a decision.
    coefficients, gaps
        The estimates, and which of them the units so far do not determine.
    held
        Why accrual is held everywhere; None if it is not.
    held_sites
        The sites at which accrual is held, with their reasons.
    closed
        The arms that are closed, with their reasons.
    taught
        How many units of an earlier trial taught; they are not among ``units``, and count nowhere but in estimates.
    """

    policy: str
    units: int
    status: Mapping[str, int]
    given: Mapping[str, Mapping[str, int]]
    reasons: Mapping[str, int]
    mean_outcome: float | None
    coefficients: tuple[Coefficient, ...]
    gaps: tuple[Gap, ...]
    held: str | None = None
    closed: tuple[ArmClosed, ...] = ()
    taught: int = 0
    held_sites: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{counted(self.units, 'unit')} enrolled under {self.policy}."]
        if self.taught:
            lines.append(f"Taught by {counted(self.taught, 'unit')} of an earlier trial.")
        if self.held is not None:
            lines.append(f"Accrual is held: {self.held}.")
        lines += [f"Accrual is held at site {site}: {reason}." for site, reason in self.held_sites.items()]
        lines += [f"Arm {arm} of stage {stage} is closed: {reason}." for stage, arm, reason in self.closed]
        if not self.units:
            return "\n".join(lines)
        lines += [f"  {count:>6}  {name}" for name, count in self.status.items() if count]
        if self.mean_outcome is not None:
            lines.append(f"Mean outcome of completed units: {self.mean_outcome:.4g}.")
        for stage, counts in self.given.items():
            lines.append(f"Given at stage {stage}: " + ", ".join(f"{arm} {count}" for arm, count in counts.items()))
        if self.reasons:
            lines.append("Reasons: " + ", ".join(f"{reason} {count}" for reason, count in self.reasons.items()))
        lines += self._estimates()
        if self.gaps:
            lines += [
                "Not determined yet (the smallest coefficients that fit are used):",
                *(f"  {g}" for g in self.gaps),
            ]
        return "\n".join(lines)

    __repr__ = __str__

    def _estimates(self) -> list[str]:
        if not self.coefficients:
            return []
        label = max(len(f"{c.stage}, {c.arm}") for c in self.coefficients) + 2
        term = max(len(c.term) for c in self.coefficients)
        forced = any(c.tilde is not None for c in self.coefficients)
        lines = [f"{'Estimates':<{label + term}}{'all units':>14}{'forced rounds' if forced else '':>16}"]
        for c in self.coefficients:
            tilde = in_words(c.tilde) if forced else ""
            lines.append(f"  {f'{c.stage}, {c.arm}':<{label}}{c.term:<{term}}{in_words(c.hat):>12}{tilde:>16}".rstrip())
        return lines


class Standing(NamedTuple):
    """What a summary is made of. It stays as it is when the session goes on."""

    design: Design
    policy: object
    units: tuple[Alike, ...]
    accrual: Mapping[str | None, Held | Released]
    closed: tuple[ArmClosed, ...]
    taught: int
    estimates: Estimates | None


def standing(design: Design, policy: object, histories: Histories, estimates: Estimates | None) -> Standing:
    """Return what a summary of a session's units and estimates is made of."""
    units = tuple(alike._replace(first=replace(alike.first)) for alike in histories.alike())
    accrual, closed = dict(histories.accrual), tuple(histories.closed.values())
    return Standing(design, policy, units, accrual, closed, len(histories.taught), estimates)


def summarise(found: Standing) -> Summary:
    """Return the summary of units and estimates."""
    design, estimates = found.design, found.estimates
    states = ["completed", "left early, completed", "withdrawn", "voided"]
    states += [f"awaiting the response at stage {stage.name}" for stage in design.stages[1:]]
    states += ["awaiting the outcome", "arms overridden", "values corrected", "with contraindications", "unblinded"]
    status: Counter[str] = Counter(dict.fromkeys(states, 0))
    given: Counter[tuple[int, int]] = Counter()
    reasons: Counter[str] = Counter()
    outcomes: dict[int, float] = {}  # by round
    for record, rounds, known in found.units:
        count = len(rounds)
        status[_state(design, record)] += count
        status["with contraindications"] += count if record.exclusions else 0
        status["unblinded"] += count if record.unblinded else 0
        for stage_and_arm in enumerate(record.history.arms):
            given[stage_and_arm] += count
        for decision in record.decisions:
            reasons[decision.reason] += count
        for amendment in record.amendments:
            status["arms overridden" if isinstance(amendment, Overridden) else "values corrected"] += count
        outcomes.update(zip(rounds, known, strict=False))
    held = {site: fact.reason for site, fact in found.accrual.items() if isinstance(fact, Held)}
    total = 0.0
    for t in sorted(outcomes):  # one by one: sum() rounds otherwise since Python 3.12
        total += outcomes[t]
    return Summary(
        policy=repr(found.policy),
        units=sum(len(alike.rounds) for alike in found.units),
        status=dict(status),
        given={
            stage.name: {arm: given[m, a] for a, arm in enumerate(stage.arms)} for m, stage in enumerate(design.stages)
        },
        reasons=dict(reasons.most_common()),
        mean_outcome=total / len(outcomes) if outcomes else None,
        coefficients=() if estimates is None else coefficient_table(design, estimates),
        gaps=() if estimates is None else _gaps(design, estimates),
        held=held.get(None),
        held_sites={site: reason for site, reason in held.items() if site is not None},
        closed=found.closed,
        taught=found.taught,
    )


def _state(design: Design, record: UnitRecord) -> str:
    """Say where a unit stands."""
    if record.voided is not None:
        return "voided"
    if record.outcome is not None:
        return "left early, completed" if record.left else "completed"
    if record.withdrawn is not None:
        return "withdrawn"
    if record.left or record.awaited == len(design.stages):
        return "awaiting the outcome"
    return f"awaiting the response at stage {design.stages[record.awaited].name}"


def coefficient_table(design: Design, estimates: Estimates) -> tuple[Coefficient, ...]:
    """Return one line per stage, arm and feature."""
    return tuple(
        Coefficient(stage.name, arm, term, _entry(estimates.hat, m, a, j), _entry(estimates.tilde, m, a, j))
        for m, stage in enumerate(design.stages)
        for a, arm in enumerate(stage.arms)
        for j, term in enumerate(design.parsed[m].features.names)
    )


def _entry(coefficients: Coefficients | None, m: int, a: int, j: int) -> float | None:
    value = float("nan") if coefficients is None else float(coefficients[m][a, j])
    return value if value == value else None


def _gaps(design: Design, estimates: Estimates) -> tuple[Gap, ...]:
    gaps = []
    for estimate, rows in (("hat", estimates.hat_rows), ("tilde", estimates.tilde_rows)):
        for m, arms in enumerate(rows):
            names = design.parsed[m].features.names
            for arm, own in zip(design.stages[m].arms, arms, strict=True):
                fit = scaled_rows(own)
                if fit.rank < len(names):
                    open_names = tuple(name for name, known in zip(names, fit.determined, strict=True) if not known)
                    gaps.append(Gap(estimate, design.stages[m].name, arm, open_names, len(names) - fit.rank))
    return tuple(gaps)
