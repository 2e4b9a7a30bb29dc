"""An arm that is not given any more, to anybody: closed once and for good."""

from __future__ import annotations

from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.design.values import is_among, shown
from dtrbandit.errors import ProtocolError
from dtrbandit.record.events import ArmClosed
from dtrbandit.record.histories import Histories, UnitRecord
from dtrbandit.record.reasons import accept_words


def closed(histories: Histories, fields: tuple[str, str, str]) -> tuple[ArmClosed | None, None]:
    """Return the closing of an arm of a stage."""
    stage, arm, reason = fields
    pair = number_of_arm(histories.design, stage, arm)
    fact, before = ArmClosed(stage, arm, accept_words(reason, "close_arm")), histories.closed.get(pair)
    if fact == before:
        return None, None
    if before is not None:
        raise ProtocolError(
            f"arm {arm!r} of stage {stage!r} is closed already ({before.reason}), found another reason, {fact.reason!r}"
        )
    after = tuple(sorted({*histories.barred, pair}))
    require_arms_everywhere(histories.design, fact, histories.barred, after)
    _require_arms_in_flight(histories, fact, after)
    return fact, None


def number_of_arm(design: Design, stage: str, arm: str) -> tuple[int, int]:
    """Return the numbers of a stage and of its arm, or say that there are none such."""
    names = [each.name for each in design.stages]
    if not is_among(stage, names):
        raise ProtocolError(f"close_arm: there is no stage {shown(stage)}; the stages are {names}")
    arms = design.stages[names.index(stage)].arms
    if not is_among(arm, arms):
        raise ProtocolError(f"close_arm: stage {stage!r} has no arm {shown(arm)}; its arms are {list(arms)}")
    return names.index(stage), arms.index(arm)


def require_arms_everywhere(design: Design, fact: ArmClosed, before: Barred, after: Barred) -> None:
    """Refuse to close the last arm that is feasible at a node to which open arms lead."""
    tree, reached = design.tree, {0}
    for node, row in enumerate(tree.following):
        m = len(tree.arms_to[node])
        if node in reached:
            reached |= {following for arm, following in enumerate(row) if (m, arm) not in before}
            if not any(yes and (m, arm) not in after for arm, yes in enumerate(tree.feasible[node])):
                given = ", ".join(stage.arms[a] for stage, a in zip(design.stages, tree.arms_to[node], strict=False))
                raise ProtocolError(
                    f"arm {fact.arm!r} of stage {fact.stage!r} cannot be closed: it is the last that is feasible"
                    f"{' after ' + given if given else ''}; close what leads there first, or end the trial"
                )


def _require_arms_in_flight(histories: Histories, fact: ArmClosed, after: Barred) -> None:
    """Refuse a closing that leaves a unit under way without an arm at its next stage."""
    tree = histories.design.tree
    for unit, record in histories.in_flight.items():
        node, excluded = record.history.node, (record.history.excluded or ((),))[-1]
        left = arms_left(tree, excluded, after)[node]
        if _goes_on(histories, record) and not any(left) and any(arms_left(tree, excluded, histories.barred)[node]):
            raise ProtocolError(
                f"arm {fact.arm!r} of stage {fact.stage!r} cannot be closed: unit {unit!r}, which is under way, would "
                "have no arm left at a later stage; let it end or withdraw first"
            )


def _goes_on(histories: Histories, record: UnitRecord) -> bool:
    return not record.left and record.awaited < len(histories.design.stages)
