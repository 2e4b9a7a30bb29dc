"""Rules for the trial as a whole: accrual is held and released, an arm is closed, it ends, another release goes on."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from dtrbandit._version import NUMERICS, RELEASES
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.design.values import is_among, shown
from dtrbandit.errors import LogError, ProtocolError
from dtrbandit.record.checks import Rules
from dtrbandit.record.events import ArmClosed, Ended, Fact, Held, Released, TrialFact, Upgraded
from dtrbandit.record.histories import History, UnitRecord
from dtrbandit.record.units import Histories
from dtrbandit.record.values import accept_site, accept_words

# -- accrual -----------------------------------------------------------------------------------------------------------
#
# A hold everywhere ends by a release everywhere, that of a site by a release of the site, and both may hold at once. A
# repetition of the latest of the two writes nothing. Anything else must be the other one.


def held(histories: Histories, fields: tuple[str, str | None]) -> tuple[Held | None, None]:
    """Return the fact that accrual is held."""
    fact = Held(accept_words(fields[0], "hold"), accept_site(fields[1]))
    latest = histories.accrual.get(fact.site)
    if fact == latest and type(latest) is Held:
        return None, None
    if type(latest) is Held:
        raise ProtocolError(
            f"accrual is held{_at(fact.site)} already ({latest.reason}), found another reason, {fact.reason!r}"
        )
    return fact, None


def released(histories: Histories, fields: tuple[str, str | None]) -> tuple[Released | None, None]:
    """Return the fact that accrual is released."""
    fact = Released(accept_words(fields[0], "release"), accept_site(fields[1]))
    latest = histories.accrual.get(fact.site)
    if fact == latest and type(latest) is Released:
        return None, None
    if type(latest) is not Held:
        state = "was never held" if latest is None else f"was released already ({latest.reason})"
        raise ProtocolError(
            f"accrual{_at(fact.site)} {state}: there is nothing to release; found the reason {fact.reason!r}"
        )
    return fact, None


def require_accrual(histories: Histories, unit: str, site: str | None) -> None:
    """Refuse a newcomer while accrual is held, everywhere or at its site."""
    hold = histories.hold_of(site)
    if hold is None:
        return
    ends = "release()" if hold.site is None else f"release(site={hold.site!r})"
    told = f"unit {unit!r} cannot enrol: accrual is held{_at(hold.site)}"
    raise ProtocolError(
        f"{told} ({hold.reason}); {ends} ends that",
        blind=f"{told}; the administrator of the trial can say why",
        remedy="Wait until an administrator of the trial releases accrual, then enrol the unit. Units under way go on.",
    )


def _at(site: str | None) -> str:
    return "" if site is None else f" at site {site!r}"


# -- arms: closed once and for good ------------------------------------------------------------------------------------


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


# -- the end: nothing more is decided, and what still happens to units is recorded -------------------------------------


def ended(histories: Histories, fields: tuple[str]) -> tuple[Ended | None, None]:
    """Return the fact that the trial ended."""
    fact = Ended(accept_words(fields[0], "end"))
    return (None, None) if fact == histories.ended else (fact, None)


def require_going_on(end: Ended, fact: Fact, history: History) -> None:
    """Refuse what an ended trial does not do: decide for a unit, ``history`` being where it arrived, and go on."""
    if history.feasible:
        raise no_more_arms(end, history.unit)
    if isinstance(fact, TrialFact):
        raise ProtocolError(f"the trial ended already ({end.reason}), found {type(fact).__name__} ({fact.reason})")


def no_more_arms(ended: Ended, unit: str) -> ProtocolError:
    """Return the refusal to decide for a unit of a trial that ended."""
    told = f"unit {unit!r} cannot be given an arm: the trial ended"
    still = "outcomes, withdrawals and amendments are still recorded"
    return ProtocolError(
        f"{told} ({ended.reason}); {still}",
        blind=f"{told}; {still}",
        remedy="Ask an administrator of the trial how the patient is treated now.",
    )


# -- a log that another release began: it is read as it is, and a decision of this one needs Upgraded first ------------


def upgraded(histories: Histories, fields: tuple[int, str, str]) -> tuple[Upgraded | None, None]:
    """Return the fact that another release goes on with the trial."""
    numerics, release, reason = fields
    fact = Upgraded(numerics, release, accept_words(reason, "upgrade"))
    if type(numerics) is not int or not isinstance(release, str):
        raise ProtocolError(f"an upgrade names numerics and a release, found {shown(numerics)} and {shown(release)}")
    if histories.upgrades and fact == histories.upgrades[-1][1]:
        return None, None
    if numerics == histories.numerics:
        raise ProtocolError(f"this log has numerics {numerics} already: there is nothing to upgrade")
    return fact, None


def release_of(numerics: int) -> str:
    """Return the newest release with these numerics, in words."""
    return RELEASES.get(numerics, f"whose NUMERICS is {numerics}")


class Segment(NamedTuple):
    """A part of a log that was decided by one release: its first and last event, from 1."""

    first: int
    last: int
    numerics: int

    @property
    def own(self) -> bool:
        """Whether this release decides in the same way."""
        return self.numerics == NUMERICS

    @property
    def release(self) -> str:
        """The release that does, in words."""
        return release_of(self.numerics)


def segments(histories: Histories) -> tuple[Segment, ...]:
    """Return the parts of a log, in order, by the numerics of their decisions."""
    starts = [(1, histories.opened.numerics), *((place, fact.numerics) for place, fact in histories.upgrades)]
    ends = [*(place - 1 for place, _ in histories.upgrades), histories.count]
    return tuple(Segment(first, last, numerics) for (first, numerics), last in zip(starts, ends, strict=True))


def refuse_other_numerics(numerics: int) -> NoReturn:
    """Refuse to decide where a release with other numerics decided so far."""
    raise LogError(
        f"this log has numerics {numerics}, this release has {NUMERICS}: the next decision could differ; "
        f"use dtrbandit release {release_of(numerics)}, or record that this release goes on (upgrade)"
    )


RULES: Rules = {Held: held, Released: released, ArmClosed: closed, Ended: ended, Upgraded: upgraded}
