"""A log as a frame with a row for each unit that has ended, as it stands after overrides and corrections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dtrbandit.design.spec import Design
from dtrbandit.errors import LogError, NotEstimable
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Enrolled,
    Event,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)

if TYPE_CHECKING:
    import pandas as pd

LEARN_NOTHING = ("FixedRegime", "UniformRandom")  # policies whose arms do not depend on earlier units
UNIT, OUTCOME = "the unit", "the outcome"


def log_frame(log: Iterable[Event], design: Design | None) -> tuple[pd.DataFrame, Design, str | None]:
    """Return a row per ended unit, the design, and the policy that learnt while it chose arms, None if none did.

    The columns are those of the contexts, the names of stages for arms, ``UNIT`` and ``OUTCOME``.
    """
    import pandas as pd

    events = iter(log)
    opened = next(events, None)
    if not isinstance(opened, Opened):
        raise LogError(f"a log begins with Opened, found {type(opened).__name__}; use a whole log, or read_log(path)")
    design = Design.from_dict(opened.design) if design is None else design
    rows: dict[str, dict[str, object]] = {}
    ended: dict[str, dict[str, object]] = {}
    for event in events:
        if isinstance(event, Opened):
            raise LogError("a log begins with Opened and has no other; use one whole log")
        row = rows.setdefault(event.unit, {UNIT: event.unit})
        row.update(_told(event))
        if isinstance(event, Completed | Withdrawn):
            ended[event.unit] = row
    if not ended:
        raise NotEstimable(
            f"none of the {len(rows)} units of the log has an outcome yet, or was withdrawn; wait for some"
        )
    columns = [
        UNIT,
        *(name for context in design.columns for name in context),
        *(s.name for s in design.stages),
        OUTCOME,
    ]
    name = str(opened.policy.get("name"))
    return pd.DataFrame(list(ended.values()), columns=columns), design, None if name in LEARN_NOTHING else name


def _told(event: Event) -> dict[str, object]:
    """Return what an event says of its unit, by column."""
    match event:
        case Enrolled(context=context) | Responded(context=context):
            return dict(context)
        case Assigned(decision):
            return {decision.stage: decision.arm}
        case Overridden(stage=stage, arm=arm):
            return {stage: arm}
        case Completed(outcome=outcome):
            return {OUTCOME: outcome}
        case Corrected(outcome=outcome, context=context):
            return {OUTCOME: outcome} if context is None else dict(context)
        case _:
            return {}
