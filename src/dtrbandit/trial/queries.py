"""What is asked of a live trial: where it stands, its units, its records. Nothing is changed by it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from dtrbandit.design.spec import Design
from dtrbandit.forks import Turn
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, Record, Stored, record_of, unlinked
from dtrbandit.record.events import Event, Taught
from dtrbandit.storage import Store
from dtrbandit.summary import Summary, summarise
from dtrbandit.trial.batch import Clock, require_unit_of
from dtrbandit.trial.export import Exported, Format, write_units
from dtrbandit.trial.followed import FollowedLog
from dtrbandit.trial.ledger import Ledger
from dtrbandit.trial.state import Phase, TrialState, require_log, state_of
from dtrbandit.trial.units import UnitStatus, UnitStory, require_awaited, statuses, story

if TYPE_CHECKING:
    from dtrbandit.evaluation.looks import Contrast, LookOptions, Looks

AT_ONCE = 500  # units that are looked at in one go


class Queries(ABC):
    """Whoever follows a stored log, and tells of it. Each look is after what is new."""

    name: str
    _store: Store
    _clock: Clock
    _lock: Turn  # nothing is decided while it is held
    _log: FollowedLog

    @abstractmethod
    def _followed(self) -> FollowedLog:
        """Return the log after what is new."""

    @property
    def state(self) -> TrialState:
        """Where the trial stands: phase, log and head of the same moment."""
        with self._lock:
            log = self._followed()
            return state_of(log.belief.histories, log.head)

    @property
    def phase(self) -> Phase:
        """The phase of the trial: ``"rehearsal"``, ``"live"`` or ``"ended"``."""
        return self.state.phase

    @property
    def locked(self) -> bool:
        """Whether the rehearsal is over and this is the live trial, which may have ended."""
        return self.state.log == "live"

    def require_log(self, meant: str) -> None:
        """Refuse what is meant for another log than the one that is written. ``Ask.log`` does so when it is taken."""
        with self._lock:
            log = self._followed()
            require_log(meant, log.belief.histories, log.storage)

    @property
    def design(self) -> Design:
        """The design that the trial was created with."""
        return self._followed().belief.design

    @property
    def policy(self) -> Policy[Any]:
        """The policy that the trial was created with."""
        return self._followed().belief.policy

    @property
    def head(self) -> Head:
        """The number of records, and the hash of the last: it stands for the whole log."""
        return self.state.head

    def session_log(self) -> list[Event]:
        """Return the events of the trial, as ``Session.log`` gives them, read from storage. The first has the seed."""
        return [record.event for record in self.records()]

    def records(self, since: int = 0) -> Iterator[Record]:
        """Give the records after the first ``since`` ones, each with its actor and time. The first holds the seed."""
        stored = self._followed().storage.read(since)
        return (record_of(each.text, sequence) for sequence, each in enumerate(stored, since + 1))

    def rehearsal(self) -> Iterator[Record]:
        """Give the records of the rehearsal, also after the trial was locked."""
        entry = self._store.trial(self.name)
        assert entry is not None
        return unlinked(self._store.log(entry.rehearsal).read())

    def stored(self, since: int = 0) -> Iterator[Stored]:
        """Give the records after the first ``since`` ones as they are stored, each with its hash."""
        yield from self._followed().storage.read(since)

    @property
    def damage(self) -> str | None:
        """What was found to be wrong with the stored log after it was opened by a snapshot; None if nothing was."""
        damage = self._log.worker.damage
        return None if damage is None else str(damage)

    @property
    def in_flight(self) -> int:
        """How many units await something."""
        with self._lock:
            return len(self._followed().belief.histories.in_flight)

    def summary(self) -> Summary:
        """Return where the trial stands: units, arms, estimates, and what cannot be estimated yet."""
        with self._lock:
            found = self._followed().belief.standing()
        return summarise(found)

    def monitor(self, contrast: Contrast, **how: Unpack[LookOptions]) -> Looks:
        """Return the difference of two regimes, or arms, with limits that hold at every look, as ``dtr.monitor`` does.

        It advises and changes nothing: neither the log nor any decision. Decisions do not wait for it.
        """
        from dtrbandit.evaluation.looks import monitor  # here: whoever only decides loads no statistics

        return monitor(self.session_log(), contrast, design=self.design, **how)

    def ledger(self) -> Ledger:
        """Return the columns that pages show, as they are now."""
        with self._lock:
            log = self._followed()
            return log.facts.ledger.copy(log.belief.histories)

    def units(
        self, awaiting: str | None = None, overdue: bool | None = None, *, site: str | None = None
    ) -> list[UnitStatus]:
        """Return the units in flight, or those of a site: what each awaits, since when, and whether it is late.

        ``awaiting`` is the name of a stage, or ``"outcome"``. What is expected when follows from ``expected_days``.
        Of many units some hundreds are looked at in one go, so that decisions go on in between.
        """
        require_awaited(self.design, awaiting)
        found, now = list[UnitStatus](), self._clock()
        names = list(self._followed().belief.histories.in_flight)
        for start in range(0, len(names), AT_ONCE):
            with self._lock:  # and after what is new: what could not be stored is not believed any more
                histories = self._followed().belief.histories
                records = map(histories.in_flight.get, names[start : start + AT_ONCE])
                own = [record for record in records if record is not None and site in (None, record.site)]
                found += statuses(histories.design, own, now)
        return [unit for unit in found if awaiting in (None, unit.awaiting) and overdue in (None, unit.overdue)]

    def unit(self, unit: str, *, site: str | None = None) -> UnitStory:
        """Return the whole story of a unit, for a site only of its own; printing it reads well."""
        with self._lock:
            log = self._followed()
            histories = log.belief.histories
            if site is not None:
                require_unit_of(histories, unit, site)
            return story(histories, log.facts, histories.known_id(unit))

    def events_of(self, units: Iterable[str]) -> list[Event]:
        """Return all that happened to some units, in the order of the log."""
        found: dict[int, Event] = {}
        for unit in units:
            with self._lock:
                records = self._followed().facts.records_of(unit)
            found.update({each.sequence: each.event for each in records if not isinstance(each.event, Taught)})
        return [found[sequence] for sequence in sorted(found)]

    def export(self, path: str | Path, format: Format | None = None) -> Exported:  # noqa: A002  # the word for it
        """Write the units as a ``Cohort`` reads them, with their propensities; never the seed.

        ``format`` is ``"csv"``, ``"parquet"`` or ``"jsonl"``, by default what the path ends with. Units come in the
        order of enrolment, up to the first that has not ended.
        """
        return write_units(self.session_log(), self.design, path, format)
