"""A live trial: the verbs of a session, each stored for good before it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Any, TypeVar

from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.errors import Conflict, DTRError, NotFound, ProtocolError, Unavailable
from dtrbandit.forks import at_fork, new_turn, turn_in_child
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, Record, Stored, record_of
from dtrbandit.record.commands import Command, End
from dtrbandit.record.events import Decision, Ended, Event
from dtrbandit.record.log import Log
from dtrbandit.record.teaching import Prior
from dtrbandit.storage import Store, connect, connect_existing
from dtrbandit.summary import Summary, summarise
from dtrbandit.trial.asks import Ask, Taken
from dtrbandit.trial.batch import Batch, Clock
from dtrbandit.trial.export import Exported, Format, write_units
from dtrbandit.trial.followed import FollowedLog
from dtrbandit.trial.opening import begin_live, begin_rehearsal, require_lockable
from dtrbandit.trial.own_units import require_unit_of
from dtrbandit.trial.proof import Progress, Verification, verify_stored
from dtrbandit.trial.restoring import restore_file
from dtrbandit.trial.state import Phase, TrialState, require_log, require_not_live, state_of
from dtrbandit.trial.units import UnitStatus, UnitStory, story
from dtrbandit.trial.verbs import Verbs
from dtrbandit.trial.waiting import chosen, require_awaited
from dtrbandit.words import counted

Done = TypeVar("Done")
ATTEMPTS = 3  # to store something after what others have stored meanwhile
SECONDS_BETWEEN_STEPS = 0.001  # of a long look, for whoever else waits for the trial


def utc_now() -> datetime:
    """Return the time of this machine's clock."""
    return datetime.now(UTC)


class Trial(Verbs):
    """A trial in a database: units enrol, respond and complete, from any number of threads and processes.

    It begins in rehearsal; ``lock`` starts the live log. A call that returns is stored for good. A call that raises
    has changed nothing. Repeating a call with equal content returns the recorded answer.

    Examples
    --------
    >>> import dtrbandit as dtr
    >>> design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
    >>> policy = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")
    >>> trial = Trial.create("pilot", design, policy, storage="memory://", seed=0)
    >>> trial.enroll("u1", {"x": 0.3}, actor="nurse A").stage, trial.phase
    ('first', 'rehearsal')
    >>> [(unit.unit, unit.awaiting) for unit in trial.units()]
    [('u1', 'second')]
    """

    def __init__(self, store: Store, name: str, *, clock: Clock, own: bool) -> None:
        self.name = name
        self._store, self._own, self._clock = store, own, clock
        self._lock = new_turn()
        at_fork(self, Trial._begin_in_child)
        self._given: tuple[Design | None, Policy[Any] | None] = (None, None)
        self._number = 0  # of the log that is followed

    def _begin_in_child(self) -> None:
        self._lock = turn_in_child(self._lock, self._cut_off)

    def _cut_off(self) -> ProtocolError:
        return ProtocolError(
            f"another thread was in a call of the trial {self.name!r} when this process was forked; this process must "
            "open the trial for itself, by Trial.open"
        )

    # -- beginning and ending --------------------------------------------------------------------------------

    @classmethod
    def create(  # noqa: PLR0913  # one word for each thing that a trial begins with
        cls,
        name: str,
        design: Design,
        policy: Policy[Any],
        *,
        storage: str | Store = "sqlite:///trial.db",
        seed: int | None = None,
        prior: Prior | None = None,
        actor: str | None = None,
        clock: Clock = utc_now,
    ) -> Trial:
        """Begin a trial, in rehearsal. Without a seed, the operating system draws one.

        ``storage`` is an address or a store that is open. ``prior``, a cohort of an earlier trial, teaches the
        rehearsal, and the live trial once it is locked. ``clock`` gives the times on record.
        """
        session, records = begin_rehearsal(name, design, policy, seed=seed, prior=prior, actor=actor, time=clock())
        store = connect(storage) if isinstance(storage, str) else storage
        try:
            with store.turn():
                if store.trial(name) is not None:
                    raise ProtocolError(f"there is a trial {name!r} already; open it, or choose another name")
                number = store.add_trial(name).rehearsal
                store.log(number).append(records, 0)
        except BaseException:
            if isinstance(storage, str):
                store.close()
            raise
        trial = cls(store, name, clock=clock, own=isinstance(storage, str))
        trial._given = design, policy
        trial._follow(number).believe(session, Head(len(records), records[-1].hash))
        return trial

    @classmethod
    def open(
        cls,
        name: str,
        *,
        storage: str | Store = "sqlite:///trial.db",
        design: Design | None = None,
        policy: Policy[Any] | None = None,
        clock: Clock = utc_now,
    ) -> Trial:
        """Open a trial that was created before, by this process or another.

        ``design`` and ``policy`` are needed only where they hold Python functions, which a log cannot.
        """
        store = connect_existing(storage) if isinstance(storage, str) else storage
        trial = cls(store, name, clock=clock, own=isinstance(storage, str))
        trial._given = design, policy
        try:
            trial._catch_up()
        except BaseException:
            trial.close()
            raise
        return trial

    @staticmethod
    def names(storage: str | Store = "sqlite:///trial.db") -> list[str]:
        """Return the names of the trials in a store."""
        store = connect_existing(storage) if isinstance(storage, str) else storage
        try:
            return [entry.name for entry in store.trials()]
        finally:
            if isinstance(storage, str):
                store.close()

    def close(self) -> None:
        """Let go of the database, if this trial opened it. Nothing is lost without it."""
        if self._own:
            self._store.close()

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def lock(
        self,
        *,
        actor: str | None,
        reason: str,
        paper_schedule: bool = False,
        seed: int | None = None,
        log: str | None = None,
    ) -> None:
        """End the rehearsal and begin the live trial: a new log with a new seed. There is no way back.

        Nothing of the rehearsal teaches the live policy, and unit ids are free again. An earlier trial that was given
        as ``prior`` teaches it. A policy with ``schedule="paper"`` is refused unless ``paper_schedule`` says that it
        is meant: who knows the schedule can guess forced arms. ``log`` is the log that this is meant for: a lock is
        for the ``"rehearsal"``, and ``"live"`` is refused.
        """
        if log is not None:
            require_not_live(log)
        with self._lock:
            with self._store.turn():
                self._catch_up()
                if self._is_repeated_lock(reason):
                    return
                if log is not None:
                    self.require_log(log)
                require_lockable(self._log.session, self.name, self.phase, paper_schedule=paper_schedule)
                self._go_live(Ask(End(reason), actor), seed)
            self._catch_up()

    def _go_live(self, ask: Ask, seed: int | None) -> None:
        """End the rehearsal, and begin the live log."""
        batch = Batch(self._log, self._clock, [ask])
        answer = batch.take(ask)
        if isinstance(answer, DTRError):
            raise answer
        batch.store()
        records = begin_live(self._log.session, batch.head, seed=seed, actor=ask.actor, time=self._clock())
        number = self._store.add_live(self.name).live
        assert number is not None
        self._store.log(number).append(records, 0)

    def _is_repeated_lock(self, reason: str) -> bool:
        """Say whether the trial was locked for the same reason before."""
        return self.locked and [record.event for record in self.rehearsal()][-1] == Ended(reason)

    # -- taking turns ----------------------------------------------------------------------------------------------

    def _tell(self, command: Command, actor: str | None) -> Decision | None:
        (answer,) = self.take([Ask(command, actor)])
        if isinstance(answer, DTRError):
            raise answer
        return answer.decision

    def take(self, asks: Sequence[Ask]) -> list[Taken | DTRError]:
        """Take asks one after the other and store what they lead to at once; return their answers in the same order.

        An ask that is refused gets its error and changes nothing. If nothing could be stored for good, every ask gets
        ``Unavailable``; the same asks may be repeated. If others wrote in between, it is tried again, a few times.
        """
        with self._lock:
            try:
                for _ in range(ATTEMPTS - 1):
                    with suppress(Conflict):
                        return self._take(asks)
                return self._take(asks)
            except Conflict as error:
                return [Unavailable(f"{error}, {ATTEMPTS} times in a row; try again") for _ in asks]
            except DTRError as error:  # the session may be ahead of what is stored: it goes back before it is used
                return [error for _ in asks]

    def _take(self, asks: Sequence[Ask]) -> list[Taken | DTRError]:
        if self._number and self._log.is_ahead:  # to go back takes a while: others go on meanwhile
            self._catch_up()
        with self._store.turn():
            self._catch_up()
            batch = Batch(self._log, self._clock, asks)
            answers = [batch.take(ask) for ask in asks]
            batch.store()
        self._log.note_stored(batch.head, batch.times)
        return answers

    # -- what is on record -----------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Follow what is new, also to the live log if the trial was locked meanwhile."""
        entry = self._store.trial(self.name)
        if entry is None:
            known = ", ".join(repr(each.name) for each in self._store.trials()) or "none"
            raise NotFound(f"there is no trial {self.name!r}; the trials here are {known}")
        number = entry.rehearsal if entry.live is None else entry.live
        if number != self._number:
            self._follow(number)
        self._log.catch_up()

    def catch_up(self) -> bool:
        """Follow what others have stored, so that the next call need not, and prepare the next summary a little.

        Say whether it is prepared.
        """
        with self._lock:
            self._catch_up()
            return self._log.session.histories.look_on()

    def _follow(self, number: int) -> FollowedLog:
        design, policy = self._given
        self._log = FollowedLog(self._store.log(number), design=design, policy=policy)
        self._number = number
        return self._log

    def _session(self) -> Session:
        """Return the session after what is new."""
        with self._lock:
            self._catch_up()
            return self._log.session

    @property
    def state(self) -> TrialState:
        """Where the trial stands: phase, log and head of the same moment."""
        with self._lock:
            return state_of(self._session(), self._log.head)

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
            require_log(meant, self._session(), self._log.storage)

    @property
    def design(self) -> Design:
        """The design that the trial was created with."""
        return self._session().design

    @property
    def policy(self) -> Policy[Any]:
        """The policy that the trial was created with."""
        return self._session().policy

    @property
    def head(self) -> Head:
        """The number of records, and the hash of the last: it stands for the whole log."""
        return self.state.head

    def session_log(self) -> Log:
        """Return the events of the trial, as ``Session.log`` gives them. The first one holds the seed."""
        return self._session().log

    def records(self, since: int = 0) -> Iterator[Record]:
        """Give the records after the first ``since`` ones, each with its actor and time. The first holds the seed."""
        with self._lock:
            self._catch_up()
            stored = self._log.storage.read(since)
        return (record_of(each.text, sequence) for sequence, each in enumerate(stored, since + 1))

    def rehearsal(self) -> Iterator[Record]:
        """Give the records of the rehearsal, also after the trial was locked."""
        entry = self._store.trial(self.name)
        assert entry is not None
        return FollowedLog(self._store.log(entry.rehearsal)).records()

    def stored(self, since: int = 0) -> Iterator[Stored]:
        """Give the records after the first ``since`` ones as they are stored, each with its hash."""
        with self._lock:
            self._catch_up()
            storage = self._log.storage
        yield from storage.read(since)

    @property
    def in_flight(self) -> int:
        """How many units await something."""
        with self._lock:
            return len(self._session().histories.in_flight)

    def summary(self) -> Summary:
        """Return where the trial stands: units, arms, estimates, and what cannot be estimated yet."""
        return summarise(self._a_while(lambda: self._log.standing()))

    def units(
        self, awaiting: str | None = None, overdue: bool | None = None, *, site: str | None = None
    ) -> list[UnitStatus]:
        """Return the units in flight, or those of a site: what each awaits, since when, and whether it is late.

        ``awaiting`` is the name of a stage, or ``"outcome"``. What is expected when follows from ``expected_days``.
        """
        require_awaited(self.design, awaiting)
        found = self._a_while(lambda: self._log.list_in_flight())
        return chosen(found, self._clock(), awaiting=awaiting, overdue=overdue, site=site)

    def _a_while(self, step: Callable[[], Done | None]) -> Done:
        """Take the steps of a long look, until one gives what is looked for; others have their turn in between."""
        while True:
            with self._lock:
                self._catch_up()
                found = step()
            if found is not None:
                return found
            sleep(SECONDS_BETWEEN_STEPS)

    def unit(self, unit: str, *, site: str | None = None) -> UnitStory:
        """Return the whole story of a unit, for a site only of its own; printing it reads well."""
        with self._lock:
            session = self._session()
            if site is not None:
                require_unit_of(session.histories, unit, site)
            return story(session, self._log.storage, unit)

    def events_of(self, units: Iterable[str]) -> list[Event]:
        """Return all that happened to some units, in the order of the log."""
        with self._lock:
            log = self._session().histories.log
            told = {place: fact for unit in units for place, fact in log.told(log.rounds[unit])}
        return [told[place] for place in sorted(told)]

    # -- proof -----------------------------------------------------------------------------------------------

    def verify(self, against: Head | None = None, *, progress: Progress | None = None) -> Verification:
        """Check the chain and the order of all records, and derive every decision again from the facts before it.

        ``against`` is a head that was exported earlier: a log that was cut since then is found. ``progress`` is told
        how far it is; by default, a line is written on standard error now and then.
        """
        design, policy = self._given
        return verify_stored(self._store, self.name, against=against, design=design, policy=policy, progress=progress)

    def export(self, path: str | Path, format: Format | None = None) -> Exported:  # noqa: A002  # the word for it
        """Write the units as a ``Cohort`` reads them, with their propensities; never the seed.

        ``format`` is ``"csv"``, ``"parquet"`` or ``"jsonl"``, by default what the path ends with. Units come in the
        order of enrolment, up to the first that has not ended.
        """
        with self._lock:
            session = self._session()
        return write_units(session, path, format)

    def backup(self, path: str | Path) -> Head:
        """Write a copy of the whole database to a new file, while others go on; return the head of this trial in it."""
        self._store.backup(path)
        with Trial.open(self.name, storage=f"sqlite:///{path}", design=self._given[0], policy=self._given[1]) as copy:
            return copy.head

    @staticmethod
    def restore(backup: str | Path, storage: str = "sqlite:///trial.db") -> list[str]:
        """Put a backup in place as a new database, after a look at every log; return the names of its trials."""
        return restore_file(backup, storage)

    def __repr__(self) -> str:
        with self._lock:
            phase, units = self.phase, counted(len(self._log.session.histories), "unit")
            return f"<Trial {self.name!r}, {phase}: {units}, {counted(self._log.head.sequence, 'record')}>"
