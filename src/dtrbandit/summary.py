"""Where a trial stands, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Coefficients, Estimates
from dtrbandit.rank import scaled_rows
from dtrbandit.record.events import ArmClosed, Held, Released
from dtrbandit.record.histories import AWAITS_OUTCOME, AWAITS_STAGE, COMPLETED, LEFT_AND_COMPLETED, VOIDED, WITHDRAWN
from dtrbandit.record.units import Histories, Tally
from dtrbandit.words import counted, short_number


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
            tilde = short_number(c.tilde) if forced else ""
            hat = short_number(c.hat)
            lines.append(f"  {f'{c.stage}, {c.arm}':<{label}}{c.term:<{term}}{hat:>12}{tilde:>16}".rstrip())
        return lines


class Standing(NamedTuple):
    """What a summary is made of. It stays as it is when the session goes on."""

    design: Design
    policy: object
    units: int
    tally: Tally
    accrual: Mapping[str | None, Held | Released]
    closed: tuple[ArmClosed, ...]
    taught: int
    estimates: Estimates | None


def standing(design: Design, policy: object, histories: Histories, estimates: Estimates | None) -> Standing:
    """Return what a summary of a session's units and estimates is made of."""
    accrual, closed, taught = dict(histories.accrual), tuple(histories.closed.values()), len(histories.taught)
    return Standing(design, policy, len(histories), histories.tally.copy(), accrual, closed, taught, estimates)


def summarise(found: Standing) -> Summary:
    """Return the summary of units and estimates."""
    design, estimates, tally = found.design, found.estimates, found.tally
    held = {site: fact.reason for site, fact in found.accrual.items() if isinstance(fact, Held)}
    return Summary(
        policy=repr(found.policy),
        units=found.units,
        status=_status(design, tally),
        given={
            stage.name: {arm: tally.given[m, a] for a, arm in enumerate(stage.arms)}
            for m, stage in enumerate(design.stages)
        },
        reasons=dict(tally.reasons.most_common()),
        mean_outcome=tally.mean_outcome,
        coefficients=() if estimates is None else coefficient_table(design, estimates),
        gaps=() if estimates is None else _gaps(design, estimates),
        held=held.get(None),
        held_sites={site: reason for site, reason in held.items() if site is not None},
        closed=found.closed,
        taught=found.taught,
    )


def _status(design: Design, tally: Tally) -> dict[str, int]:
    """Return how many units are in each state, in words, and how many were amended."""
    states, later = tally.states, enumerate(design.stages[1:])
    return {
        "completed": states[COMPLETED],
        "left early, completed": states[LEFT_AND_COMPLETED],
        "withdrawn": states[WITHDRAWN],
        "voided": states[VOIDED],
        **{f"awaiting the response at stage {stage.name}": states[AWAITS_STAGE + k] for k, stage in later},
        "awaiting the outcome": states[AWAITS_OUTCOME],
        "arms overridden": tally.overridden,
        "values corrected": tally.corrected,
        "with contraindications": tally.excluded,
        "unblinded": tally.unblinded,
    }


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
    for estimate, rows in (("hat", estimates.hat_factors), ("tilde", estimates.tilde_factors)):
        for m, arms in enumerate(rows):
            names = design.parsed[m].features.names
            for arm, own in zip(design.stages[m].arms, arms, strict=True):
                fit = scaled_rows(own)
                if fit.rank < len(names):
                    open_names = tuple(name for name, known in zip(names, fit.determined, strict=True) if not known)
                    gaps.append(Gap(estimate, design.stages[m].name, arm, open_names, len(names) - fit.rank))
    return tuple(gaps)
