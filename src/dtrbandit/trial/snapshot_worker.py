"""What is done for a trial in the background: snapshots are written, and the chain that one stood for is checked."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from dtrbandit.errors import LogError, Unavailable
from dtrbandit.policies.registry import is_builtin
from dtrbandit.record.chain import EMPTY, Head, checked_batches
from dtrbandit.storage.store import Storage
from dtrbandit.trial.snapshots import AT_THE_END, EVERY, Copied, Snapshots, copied

if TYPE_CHECKING:
    from dtrbandit.trial.followed import FollowedLog

logger = logging.getLogger("dtrbandit.trial")


class SnapshotWorker:
    """Looks after the snapshots of one log. Whoever calls it has the trial's turn.

    ``damage`` is what the check of the chain has found to be wrong; None if nothing is.
    """

    def __init__(self, snapshots: Snapshots | None) -> None:
        self._snapshots = snapshots
        self._last = 0  # the record of the latest snapshot
        self._checked = self._in_check = EMPTY  # heads up to which the chain is checked, and is being checked
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.damage: LogError | None = None

    def look(self, log: FollowedLog) -> None:
        """Take a snapshot if enough is new, and check what was opened by one. It never fails: facts are stored."""
        if log.is_ahead:
            return
        try:
            if log.unchecked not in (self._checked, self._in_check):
                self._in_check = head = log.unchecked
                self._last = max(self._last, head.sequence)
                self._start(lambda: self._check(log.storage, head))
            if log.head.sequence - self._last >= EVERY:
                self._take(log)
        except Exception:  # its caller has stored a fact, and must answer
            logger.exception("no snapshot could be taken, or the chain could not be checked")

    def close(self, log: FollowedLog | None) -> None:
        """Take a last snapshot if it is worth while, and wait until it is written. Nothing is lost without it."""
        self._closed = True
        try:
            if log is not None and not log.is_ahead and log.head.sequence - self._last >= AT_THE_END:
                self._take(log)
        except Exception:  # a trial that cannot be closed would keep its database open
            logger.exception("no last snapshot could be taken")
        for thread in self._threads:
            thread.join()

    def _take(self, log: FollowedLog) -> None:
        """Copy what is believed, and let it be written. What was stored stays so if the database is away now."""
        if self._snapshots is None or not is_builtin(log.belief.policy):
            self._last = log.head.sequence
            return
        with suppress(Unavailable):  # the next look tries again
            (first,) = log.storage.pick([1])
            found = copied(log.belief, log.facts, log.head, first.hash)
            self._last = log.head.sequence
            self._start(lambda: self._write(found))

    def _write(self, found: Copied) -> None:
        assert self._snapshots is not None  # or nothing was copied
        self._snapshots.write(found)

    def _check(self, storage: Storage, head: Head) -> None:
        """Hold the stored records up to a head against their hashes."""
        try:
            if self._is_whole(storage, head):
                self._checked = head
        except Unavailable:
            self._in_check = EMPTY  # that says nothing about the log: the next look begins anew
        except LogError as error:
            self.damage = error
        except Exception as error:  # noqa: BLE001  # a chain that nobody can check is not gone on with
            self.damage = LogError(f"the stored log cannot be checked: {error!r}; run trial verify")

    def _is_whole(self, storage: Storage, head: Head) -> bool:
        """Say whether the chain was checked up to a head; False if the trial was closed meanwhile."""
        done = 0
        for texts, hashes in checked_batches(storage.batches()):
            if self._closed:
                return False
            if done < head.sequence <= done + len(texts) and hashes[head.sequence - done - 1] != head.hash:
                raise LogError(f"record {head.sequence} is another one by now; restore a backup")
            done += len(texts)
            if done >= head.sequence:
                return True
        raise LogError(f"the log ends with record {done}, and {head.sequence} were known; restore a backup")

    def _start(self, act: Callable[[], None]) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=act, name="dtrbandit-snapshots", daemon=True)
        self._threads.append(thread)
        thread.start()
