"""A log that another release began: it is read as it is, and a decision of this release needs ``Upgraded`` first."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from dtrbandit._version import NUMERICS, RELEASES
from dtrbandit.design.values import shown
from dtrbandit.errors import LogError, ProtocolError
from dtrbandit.record.events import Upgraded
from dtrbandit.record.histories import Histories
from dtrbandit.record.reasons import accept_words


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
