"""A live trial: the verbs of a session, each stored for good before it is answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from dtrbandit.belief import Belief
from dtrbandit.design.spec import Design
from dtrbandit.errors import Conflict, DTRError, LogError, NotFound, ProtocolError, Unavailable
from dtrbandit.forks import at_fork, new_turn, turn_in_child
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, Record, Stored, record_of
from dtrbandit.record.commands import Command, End
from dtrbandit.record.events import Decision, Ended, Event, Taught
from dtrbandit.record.teaching import Prior
from dtrbandit.storage import Store, connect, connect_existing
from dtrbandit.summary import Summary, summarise
from dtrbandit.trial.asks import Ask, Taken
from dtrbandit.trial.batch import Batch, Clock, Interrupted
from dtrbandit.trial.export import Exported, Format, write_units
from dtrbandit.trial.followed import FollowedLog, Progress
from dtrbandit.trial.ledger import Ledger
from dtrbandit.trial.opening import begin_live, begin_rehearsal, require_lockable
from dtrbandit.trial.own_units import require_unit_of
from dtrbandit.trial.proof import Verification, say_progress, verify_stored
from dtrbandit.trial.restoring import restore_file
from dtrbandit.trial.snapshot_worker import SnapshotWorker
from dtrbandit.trial.snapshots import snapshots_of
from dtrbandit.trial.state import Phase, TrialState, require_log, require_not_live, state_of
from dtrbandit.trial.units import UnitStatus, UnitStory, chosen, require_awaited, status_of, story
from dtrbandit.trial.verbs import Verbs
from dtrbandit.words import counted

Done = TypeVar("Done")
ATTEMPTS = 3  # to store something after what others have stored meanwhile
AT_ONCE = 500  # units that are looked at in one go


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
        records = begin_rehearsal(name, design, policy, seed=seed, prior=prior, actor=actor, time=clock())
        store = connect(storage) if isinstance(storage, str) else storage
        try:
            with store.turn():
                if store.trial(name) is not None:
                    raise ProtocolError(f"there is a trial {name!r} already; open it, or choose another name")
                store.log(store.add_trial(name).rehearsal).append(records, 0)
        except BaseException:
            if isinstance(storage, str):
                store.close()
            raise
        trial = cls(store, name, clock=clock, own=isinstance(storage, str))
        trial._given = design, policy
        trial._catch_up()
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
        """Take a last snapshot, and let go of the database if this trial opened it. Nothing is lost without it."""
        if self._number:
            with self._lock:
                self._worker.close(self._log)
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
                self._require_whole()
                if log is not None:
                    self.require_log(log)
                require_lockable(self._log.belief.policy, self.name, self.phase, paper_schedule=paper_schedule)
                self._go_live(Ask(End(reason), actor), seed)
            self._catch_up()

    def _go_live(self, ask: Ask, seed: int | None) -> None:
        """End the rehearsal, and begin the live log."""
        batch = Batch(self._log, self._clock, [ask])
        answer = batch.take(ask)
        if isinstance(answer, DTRError):
            raise answer
        batch.store()
        rehearsal = self._log.records()
        records = begin_live(self._log.belief, rehearsal, batch.head, seed=seed, actor=ask.actor, time=self._clock())
        deque(rehearsal, maxlen=0)  # to its end: a rehearsal that is locked has a whole chain
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
            except DTRError as error:  # what is believed may be ahead of what is stored: it is read again before use
                return [error for _ in asks]
            except Interrupted:
                return [answer for ask in asks for answer in self.take([ask])]

    def _take(self, asks: Sequence[Ask]) -> list[Taken | DTRError]:
        if self._number and self._log.is_ahead:  # to read again takes a while: others go on meanwhile
            self._catch_up()
        with self._store.turn():
            self._catch_up()
            self._require_whole()
            batch = Batch(self._log, self._clock, asks)
            answers = [batch.take(ask) for ask in asks]
            batch.store()
        self._log.note_stored(batch.head)
        self._worker.look(self._log)
        return answers

    def _require_whole(self) -> None:
        """Refuse to go on with a log that was found to be damaged."""
        if self._worker.damage is not None:
            raise LogError(str(self._worker.damage), sequence=self._worker.damage.sequence)

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
        self._worker.look(self._log)

    def catch_up(self) -> None:
        """Follow what others have stored, so that the next call need not."""
        with self._lock:
            self._catch_up()

    def _follow(self, number: int) -> None:
        design, policy = self._given
        snapshots = snapshots_of(self._store, number)
        progress = say_progress(f"opening {self.name}")
        self._log = FollowedLog(
            self._store.log(number), design=design, policy=policy, snapshots=snapshots, progress=progress
        )
        self._number = number
        self._worker = SnapshotWorker(snapshots)

    def _believed(self) -> Belief:
        """Return what is believed after what is new."""
        with self._lock:
            self._catch_up()
            return self._log.belief

    @property
    def state(self) -> TrialState:
        """Where the trial stands: phase, log and head of the same moment."""
        with self._lock:
            return state_of(self._believed().histories, self._log.head)

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
            require_log(meant, self._believed().histories, self._log.storage)

    @property
    def design(self) -> Design:
        """The design that the trial was created with."""
        return self._believed().design

    @property
    def policy(self) -> Policy[Any]:
        """The policy that the trial was created with."""
        return self._believed().policy

    @property
    def head(self) -> Head:
        """The number of records, and the hash of the last: it stands for the whole log."""
        return self.state.head

    def session_log(self) -> list[Event]:
        """Return the events of the trial, as ``Session.log`` gives them, read from storage. The first has the seed."""
        return [record.event for record in self.records()]

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
    def damage(self) -> str | None:
        """What was found to be wrong with the stored log after it was opened by a snapshot; None if nothing was."""
        return None if self._worker.damage is None else str(self._worker.damage)

    @property
    def in_flight(self) -> int:
        """How many units await something."""
        with self._lock:
            return len(self._believed().histories.in_flight)

    def summary(self) -> Summary:
        """Return where the trial stands: units, arms, estimates, and what cannot be estimated yet."""
        with self._lock:
            found = self._believed().standing()
        return summarise(found)

    def ledger(self) -> Ledger:
        """Return the columns that pages show, as they are now."""
        with self._lock:
            self._catch_up()
            return self._log.facts.ledger.copy()

    def units(
        self, awaiting: str | None = None, overdue: bool | None = None, *, site: str | None = None
    ) -> list[UnitStatus]:
        """Return the units in flight, or those of a site: what each awaits, since when, and whether it is late.

        ``awaiting`` is the name of a stage, or ``"outcome"``. What is expected when follows from ``expected_days``.
        Of many units some hundreds are looked at in one go, so that decisions go on in between.
        """
        require_awaited(self.design, awaiting)
        found: list[UnitStatus] = []
        names = list(self._believed().histories.in_flight)
        for start in range(0, len(names), AT_ONCE):
            with self._lock:  # and after what is new: what could not be stored is not believed any more
                histories = self._believed().histories
                records = map(histories.in_flight.get, names[start : start + AT_ONCE])
                found += [status_of(histories.design, record) for record in records if record is not None]
        return chosen(found, self._clock(), awaiting=awaiting, overdue=overdue, site=site)

    def unit(self, unit: str, *, site: str | None = None) -> UnitStory:
        """Return the whole story of a unit, for a site only of its own; printing it reads well."""
        with self._lock:
            histories = self._believed().histories
            if site is not None:
                require_unit_of(histories, unit, site)
            return story(histories, self._log.facts, histories.known_id(unit))

    def events_of(self, units: Iterable[str]) -> list[Event]:
        """Return all that happened to some units, in the order of the log."""
        found: dict[int, Event] = {}
        for unit in units:
            with self._lock:
                self._catch_up()
                records = self._log.facts.records_of(unit)
            found.update({each.sequence: each.event for each in records if not isinstance(each.event, Taught)})
        return [found[sequence] for sequence in sorted(found)]

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
        return write_units(self.session_log(), self.design, path, format)

    def backup(self, path: str | Path) -> Head:
        """Write a copy of the whole database to a new file, while others go on; return the head of this trial in it."""
        self._store.backup(path)
        with closing(connect_existing(f"sqlite:///{path}")) as copy:
            entry = copy.trial(self.name)
            assert entry is not None
            number, (design, policy) = entry.rehearsal if entry.live is None else entry.live, self._given
            log = FollowedLog(copy.log(number), design=design, policy=policy)
            log.catch_up()  # it can be read, and no snapshot is left beside it
            return log.head

    @staticmethod
    def restore(backup: str | Path, storage: str = "sqlite:///trial.db") -> list[str]:
        """Put a backup in place as a new database, after a look at every log; return the names of its trials."""
        return restore_file(backup, storage)

    def __repr__(self) -> str:
        with self._lock:
            phase, units = self.phase, counted(len(self._log.belief.histories), "unit")
            return f"<Trial {self.name!r}, {phase}: {units}, {counted(self._log.head.sequence, 'record')}>"
