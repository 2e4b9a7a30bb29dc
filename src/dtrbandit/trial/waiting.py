"""Who is in flight, what each awaits and since when: kept in a list, which costs what is new and what is asked for.

Of many units that have enrolled few are in flight. A list of them is brought up to date with those of whom something is
new, some at a time, so that decisions go on in between. What is in it never changes, only which ones are in it. So it
can be looked through while others go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice

from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.errors import ProtocolError
from dtrbandit.record.chain import time_of
from dtrbandit.record.events import Assigned, Enrolled, Responded
from dtrbandit.record.histories import Histories, UnitRecord
from dtrbandit.storage.store import Storage
from dtrbandit.trial.units import OUTCOME, UnitStatus

AT_ONCE = 500  # units that are looked at in one go
ARRIVALS = Enrolled, Responded, Assigned  # since the last of these a unit waits


class Waiting:
    """The units in flight of one log, as far as it was followed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, UnitStatus]] = {}  # by round: since which place it waits, and how
        self._new: dict[int, None] = {}  # rounds of which something is new
        self._version = 0

    def follow(self, session: Session, storage: Storage) -> bool:
        """Take in what is new, of some units; say whether that was all."""
        self._notice(session)
        places = self._places(session.histories, list(islice(self._new, AT_ONCE)))
        unread = [place + 1 for t, place in places.items() if place and not self._is_known(t, place)]
        times = zip(unread, storage.pick(unread), strict=True)
        self._take(session, places, {sequence: time_of(each.text, sequence) for sequence, each in times})
        return not self._new

    def take(self, session: Session, times: Mapping[int, datetime]) -> None:
        """Take in what was just stored, with the times of the records by their numbers, if anybody ever looked here."""
        if self._version:
            self._notice(session)
            places = self._places(session.histories, list(islice(self._new, AT_ONCE)))
            known = {t: place for t, place in places.items() if place + 1 in times or self._is_known(t, place)}
            self._take(session, known, {sequence: time.astimezone(UTC) for sequence, time in times.items()})

    def _notice(self, session: Session) -> None:
        """Note of whom something is new: at first of all in flight, in the order of their rounds."""
        histories, version = session.histories, session.version
        if self._version:
            rounds: Iterable[int] = histories.log.rounds_between(self._version, version)
        else:
            rounds = sorted(record.history.round for record in histories.in_flight.values())
        self._new.update(dict.fromkeys(filter(None, rounds)))
        self._version = version

    def _places(self, histories: Histories, rounds: Iterable[int]) -> dict[int, int]:
        """Return since which place of the log units wait; 0 for those that have ended."""
        log, in_flight = histories.log, histories.in_flight
        return {t: log.last_place(t, ARRIVALS) if log.names[t - 1] in in_flight else 0 for t in rounds}

    def _is_known(self, t: int, place: int) -> bool:
        """Say whether a time need not be read again: nothing is, or an amendment restarts no waiting."""
        return not place or (t in self._known and self._known[t][0] == place)

    def _take(self, session: Session, places: dict[int, int], times: Mapping[int, datetime | None]) -> None:
        histories = session.histories
        for t, place in places.items():
            record = histories.in_flight.get(histories.log.names[t - 1])
            if record is None:
                self._known.pop(t, None)
            else:
                since = self._known[t][1].since if self._is_known(t, place) else times[place + 1]
                self._known[t] = place, _status(session.design, record, since)
            del self._new[t]

    def __call__(self) -> list[UnitStatus]:
        """Return all of them in the order of their rounds, none of them called overdue."""
        return [self._known[t][1] for t in sorted(self._known)]


def chosen(
    units: Iterable[UnitStatus], now: datetime, *, awaiting: str | None, overdue: bool | None, site: str | None
) -> list[UnitStatus]:
    """Return those of some units that are asked for, as they stand now."""
    found = []
    for each in units:
        if awaiting in (None, each.awaiting) and site in (None, each.site):
            late = each.due is not None and now > each.due
            if overdue in (None, late):
                found.append(each._replace(overdue=True) if late else each)
    return found


def require_awaited(design: Design, awaiting: str | None) -> None:
    """Refuse what no unit can await."""
    names = [*(stage.name for stage in design.stages[1:]), OUTCOME]
    if awaiting is not None and awaiting not in names:
        raise ProtocolError(f"units await one of {names}, found {awaiting!r}")


def _status(design: Design, record: UnitRecord, since: datetime | None) -> UnitStatus:
    unit, t, _, _, arms, *_ = record.history
    stage, days = design.stages[len(arms) - 1], _expected_days(design, record)
    due = None if since is None or days is None else _later(since, days)
    over = record.left or record.awaited == len(design.stages)
    awaiting = OUTCOME if over else design.stages[record.awaited].name
    return UnitStatus(unit, t, stage.name, awaiting, since, due, False, stage.arms[arms[-1]], record.site)


def _later(since: datetime, days: float) -> datetime | None:
    """Return a time so many days later; None if no calendar goes so far."""
    try:
        return since + timedelta(days=days)
    except OverflowError:
        return None


def _expected_days(design: Design, record: UnitRecord) -> float | None:
    """Return the days until what a unit awaits. Who left early has an outcome when the full course would end."""
    m = len(record.history.arms) - 1
    days = [stage.expected_days for stage in (design.stages[m + 1 :] if record.left else design.stages[m : m + 1])]
    known = [each for each in days if each is not None]
    return sum(known) if len(known) == len(days) else None
