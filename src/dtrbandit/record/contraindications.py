"""Arms that a unit must not have: said when it enrols or responds, for that stage and later ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dtrbandit.design.feasibility import Barred, arms_left, why_not
from dtrbandit.design.spec import Design
from dtrbandit.design.values import is_among, shown
from dtrbandit.errors import ObservationError, ProtocolError
from dtrbandit.record.events import Excluded
from dtrbandit.record.histories import History, UnitRecord, barred_by
from dtrbandit.record.units import Histories
from dtrbandit.record.values import accept_reason

NO_ARM = "Exclude fewer arms if you can; otherwise ask an administrator of the trial."
Said = tuple[Excluded | None, str | None]  # which arms, and why


def accept_exclude(design: Design, unit: str, m: int, exclude: object, reason: object) -> Said:
    """Return arms that are contraindicated from stage ``m`` on, as they go on record, and why; or raise."""
    if exclude is None:
        excluded: Excluded = {}
    elif isinstance(exclude, Mapping):
        later = {stage.name: stage.arms for stage in design.stages[m:]}
        _require_stages(exclude, unit, later, [stage.name for stage in design.stages[:m]])
        found = {stage: _accept_arms(exclude[stage], unit, stage, later[stage]) for stage in later if stage in exclude}
        excluded = {stage: arms for stage, arms in found.items() if arms}
    else:
        raise ObservationError(
            f"unit {unit!r}: exclude must be a mapping such as {{'first': ['ssri']}}, found {shown(exclude)}"
        )
    if excluded:
        return excluded, accept_reason(reason, f"{unit}, exclude")
    if reason is not None:
        raise ProtocolError(f"unit {unit!r}: a reason goes with exclude=, and nothing is excluded; found {reason!r}")
    return None, None


def _require_stages(found: Mapping[object, object], unit: str, later: Mapping[str, object], before: list[str]) -> None:
    for stage in found:
        if stage in before:
            raise ProtocolError(
                f"unit {unit!r}: the arm of stage {stage!r} is decided already, and exclude= is about {list(later)}; "
                "use override() if another arm was given"
            )
        if stage not in later:
            raise ProtocolError(f"unit {unit!r}: exclude names stage {stage!r}; the stages are {[*before, *later]}")


def _accept_arms(found: object, unit: str, stage: str, arms: tuple[str, ...]) -> tuple[str, ...]:
    try:
        labels = list(found) if isinstance(found, Iterable) and not isinstance(found, str) else None
    except TypeError:  # an array of no dimension says that it is iterable
        labels = None
    if labels is None:
        raise ObservationError(
            f"unit {unit!r}: exclude of stage {stage!r} must be a list of arms, found {shown(found)}; "
            f"its arms are {list(arms)}"
        )
    unknown = [label for label in labels if not is_among(label, arms)]
    if unknown:
        raise ProtocolError(
            f"unit {unit!r}: exclude names the arm {shown(unknown[0])} of stage {stage!r}; its arms are {list(arms)}"
        )
    return tuple(arm for arm in arms if arm in labels)


def said_at(record: UnitRecord, m: int) -> Said:
    """Return what was said on arrival at stage ``m``."""
    return next(((excluded, reason) for k, excluded, reason in record.exclusions if k == m), (None, None))


def require_same_exclusions(record: UnitRecord, m: int, said: Said) -> None:
    """Refuse a repetition that excludes other arms than what it repeats, or for another reason."""
    before = said_at(record, m)
    if said != before:
        raise ProtocolError(
            f"unit {record.history.unit!r}: on record for this stage are the exclusions {_in_words(before)}, "
            f"found {_in_words(said)}; more can be excluded when the unit next responds"
        )


def _in_words(said: Said) -> str:
    excluded, reason = said
    return "none" if excluded is None else f"{dict(excluded)} ({reason})"


def require_an_arm(histories: Histories, unit: str, node: int, excluded: Barred) -> None:
    """Refuse contraindications by which no arm, or no way on from it, is left at a node."""
    design = histories.design
    if any(arms_left(design.tree, excluded, histories.barred)[node]):
        return
    stage = design.stages[len(design.tree.arms_to[node])]
    reasons = ", ".join(
        f"{stage.arms[arm]} ({why})" for arm, why in why_not(design.tree, node, excluded, histories.barred)
    )
    told = f"unit {unit!r}: no arm is left at stage {stage.name!r}"
    then = "it cannot take part in this trial" if node == 0 else "withdraw it, if nothing else can be given"
    raise ProtocolError(f"{told}: {reasons}; {then}", blind=f"{told}; {then}", remedy=NO_ARM)


def excluded_by(design: Design, record: UnitRecord, excluded: Excluded | None) -> Barred:
    """Return all that is contraindicated for a unit once this is said as well."""
    return tuple(sorted({*(record.history.excluded or ((),))[-1], *barred_by(design, excluded)}))


def infeasible_arms(histories: Histories, history: History) -> tuple[tuple[str, str], ...]:
    """Return the arms that a unit that has arrived cannot have, though the design allows them, and why."""
    tree, m = histories.design.tree, len(history.arms)
    excluded = history.excluded[m] if history.excluded else ()
    arms = histories.design.stages[m].arms
    return tuple((arms[arm], why) for arm, why in why_not(tree, history.node, excluded, histories.barred))
