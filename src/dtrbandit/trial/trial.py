"""A live trial: the verbs of a session, each stored for good before it is answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.errors import Conflict, DTRError, NotFound, ProtocolError, Unavailable
from dtrbandit.forks import at_fork, new_turn, turn_in_child
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, unlinked
from dtrbandit.record.commands import Command, End
from dtrbandit.record.events import Decision, Ended
from dtrbandit.record.teaching import Prior
from dtrbandit.storage import Store, connect, connect_existing
from dtrbandit.trial.batch import Ask, Batch, Clock, Interrupted, Taken
from dtrbandit.trial.followed import FollowedLog, Given, Progress
from dtrbandit.trial.opening import begin_live, begin_rehearsal, require_lockable, restore_file
from dtrbandit.trial.proof import Verification, say_progress, verify_stored
from dtrbandit.trial.queries import Queries
from dtrbandit.trial.snapshots import snapshots_of
from dtrbandit.trial.state import require_not_live
from dtrbandit.trial.verbs import Verbs
from dtrbandit.words import counted

ATTEMPTS = 3  # to store something after what others have stored meanwhile


def utc_now() -> datetime:
    """Return the time of this machine's clock."""
    return datetime.now(UTC)


class Trial(Queries, Verbs):
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

    def __init__(self, store: Store, name: str, given: Given = (None, None), *, clock: Clock, own: bool) -> None:
        self.name = name
        self._store, self._own, self._clock, self._given = store, own, clock, given
        self._lock = new_turn()
        at_fork(self, Trial._begin_in_child)
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
        own = isinstance(storage, str)
        store = connect(storage) if isinstance(storage, str) else storage
        trial = cls(store, name, (design, policy), clock=clock, own=own)
        try:
            with store.turn():
                if store.trial(name) is not None:
                    raise ProtocolError(f"there is a trial {name!r} already; open it, or choose another name")
                store.log(store.add_trial(name).rehearsal).append(records, 0)
            trial.catch_up()
        except BaseException:
            trial.close()
            raise
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
        own = isinstance(storage, str)
        store = connect_existing(storage) if isinstance(storage, str) else storage
        trial = cls(store, name, (design, policy), clock=clock, own=own)
        try:
            trial.catch_up()
        except BaseException:
            trial.close()
            raise
        return trial

    @staticmethod
    def names(storage: str | Store = "sqlite:///trial.db") -> list[str]:
        """Return the names of the trials in a store."""
        if not isinstance(storage, str):
            return [entry.name for entry in storage.trials()]
        with closing(connect_existing(storage)) as store:
            return Trial.names(store)

    def close(self) -> None:
        """Take a last snapshot, and let go of the database if this trial opened it. Nothing is lost without it."""
        if self._number:
            with self._lock:
                self._log.close()
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
                followed = self._followed()
                if self._is_repeated_lock(reason):
                    return
                followed.require_whole()
                if log is not None:
                    self.require_log(log)
                require_lockable(followed.belief.policy, self.name, self.phase, paper_schedule=paper_schedule)
                self._go_live(Ask(End(reason), actor), seed)
            self.catch_up()

    def _go_live(self, ask: Ask, seed: int | None) -> None:
        """End the rehearsal, and begin the live log."""
        batch = Batch(self._log, self._clock, [ask])
        answer = batch.take(ask)
        if isinstance(answer, DTRError):
            raise answer
        batch.store()
        rehearsal = unlinked(self._log.storage.read())
        records = begin_live(self._log.belief, rehearsal, batch.head, seed=seed, actor=ask.actor, time=self._clock())
        deque(rehearsal, maxlen=0)  # to its end: a rehearsal that is locked has a whole chain
        entry = self._store.add_live(self.name)
        self._store.log(entry.live or entry.rehearsal).append(records, 0)

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
            self._followed()
        with self._store.turn():
            log = self._followed()
            log.require_whole()
            batch = Batch(log, self._clock, asks)
            answers = [batch.take(ask) for ask in asks]
            batch.store()
        log.note_appended(batch.head)
        return answers

    def catch_up(self) -> None:
        """Follow what others have stored, so that the next call need not."""
        self._followed()

    def _followed(self) -> FollowedLog:
        """Return the log after what is new: the live one if the trial was locked meanwhile."""
        with self._lock:
            entry = self._store.trial(self.name)
            if entry is None:
                known = ", ".join(repr(each.name) for each in self._store.trials()) or "none"
                raise NotFound(f"there is no trial {self.name!r}; the trials here are {known}")
            number = entry.live or entry.rehearsal
            if number != self._number:
                self._follow(number)
            self._log.catch_up()
            return self._log

    def _follow(self, number: int) -> None:
        storage, snapshots = self._store.log(number), snapshots_of(self._store, number)
        progress = say_progress(f"opening {self.name}")
        self._log = FollowedLog(storage, self._given, snapshots=snapshots, progress=progress)
        self._number = number

    # -- proof -----------------------------------------------------------------------------------------------

    def verify(self, against: Head | None = None, *, progress: Progress | None = None) -> Verification:
        """Check the chain and the order of all records, and derive every decision again from the facts before it.

        ``against`` is a head that was exported earlier: a log that was cut since then is found. ``progress`` is told
        how far it is; by default, a line is written on standard error now and then.
        """
        design, policy = self._given
        return verify_stored(self._store, self.name, against=against, design=design, policy=policy, progress=progress)

    def backup(self, path: str | Path) -> Head:
        """Write a copy of the whole database to a new file, while others go on; return the head of this trial in it."""
        self._store.backup(path)
        with closing(connect_existing(f"sqlite:///{path}")) as copy:
            entry = copy.trial(self.name)
            assert entry is not None
            log = FollowedLog(copy.log(entry.live or entry.rehearsal), self._given)
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
