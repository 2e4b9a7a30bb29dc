"""Asks that are taken together: each is answered and believed in turn, and all are stored at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from dtrbandit.errors import DesignError, DTRError, ObservationError, ProtocolError
from dtrbandit.record.chain import Head, Record, Stored, linked, record_of
from dtrbandit.record.events import Assigned, Decision, Event, Fact, Opened, Overridden
from dtrbandit.storage.store import IdempotencyKey
from dtrbandit.trial.asks import Ask, Taken, check_label, fingerprint, is_label
from dtrbandit.trial.followed import FollowedLog, checked_alone
from dtrbandit.trial.own_units import require_own
from dtrbandit.trial.state import require_log

Clock = Callable[[], datetime]
Answer = Taken | DTRError


class Interrupted(Exception):  # noqa: N818  # no error of its own: asks are taken again, one at a time
    """An ask of several broke off in the middle, so that what is believed is good for none of them."""


class Batch:
    """What asks led to after the head of a log: records and keys that are still to be stored.

    The asks to come are named beforehand, so that their keys are looked up together.
    """

    def __init__(self, log: FollowedLog, clock: Clock, asks: Sequence[Ask]) -> None:
        self._belief, self._storage, self._clock = log.belief, log.storage, clock
        self._alone = len(asks) == 1
        self.expected = log.head.sequence
        self.head = log.head
        self.records: list[Stored] = []
        self.keys: dict[tuple[str, str], IdempotencyKey] = {}
        self._facts: list[Fact] = []  # of these records
        self._stored = {(key.owner, key.key): key for key in self._storage.keys(_keys_of(asks))}

    def take(self, ask: Ask) -> Answer:
        """Answer an ask and believe the answer. A refused one changes nothing."""
        try:
            return self._take(ask)
        except DTRError as error:
            refused = error
        except Exception as error:  # noqa: BLE001  # a policy of the caller's own may raise anything, and harms nobody else
            refused = DesignError(f"the policy {self._belief.policy!r} failed: {error!r}; nothing was recorded")
            refused.__cause__ = error
        if not (self._belief.whole or self._alone):
            raise Interrupted
        return refused

    def _take(self, ask: Ask) -> Taken:
        if not isinstance(ask, Ask):
            raise ObservationError(f"found {ask!r}, which is no Ask(command, actor, key, api_key)")
        histories = self._belief.histories
        if ask.log is not None:
            require_log(ask.log, histories, self._storage)
        if ask.site is not None:
            require_own(histories, ask.command, ask.site)
        for text, what in ((ask.actor, "an actor"), (ask.key, "an idempotency key"), (ask.api_key, "an API key's id")):
            check_label(text, what)
        content = "" if ask.key is None else fingerprint(ask.command)
        known = self._known(ask, content)
        if known is not None:
            return self._recorded(known)
        facts, record, arrived, decision = self._belief.find(ask.command)
        if facts:
            time = self._clock()
            self._belief.learn(facts, record, arrived, time.astimezone(UTC))
            self._write(ask, content, facts, time)
        return Taken(decision, facts, not facts)

    def _known(self, ask: Ask, content: str) -> IdempotencyKey | None:
        """Return what was asked under the same key before; refuse another content."""
        if ask.key is None:
            return None
        owner = ask.api_key or ""
        known = self.keys.get((owner, ask.key)) or self._stored.get((owner, ask.key))
        if known is not None and known.fingerprint != content:
            raise ProtocolError(
                f"the idempotency key {ask.key!r} belongs to another request; a new request needs a new key"
            )
        return known

    def _recorded(self, known: IdempotencyKey) -> Taken:
        """Return again what a request under a key led to, from the log."""
        numbers = range(known.sequence, known.sequence + known.facts)
        if known.sequence > self.expected:
            facts = tuple(self._facts[number - self.expected - 1] for number in numbers)
        else:
            found = list(zip(numbers, self._storage.pick(numbers), strict=True))
            records = [record_of(each.text, number) for number, each in checked_alone(self._storage, found)]
            facts = tuple(_fact(record.event) for record in records)
        return Taken(self._decision(facts[-1]), facts, True)

    def _decision(self, fact: Fact) -> Decision | None:
        """Return the decision that was replied when a fact was recorded."""
        if isinstance(fact, Assigned):
            return fact.decision
        if not isinstance(fact, Overridden):
            return None
        decision = self._belief.histories.decisions(fact.unit)[self._belief.design.stage_number(fact.stage)]
        return decision._replace(arm=fact.arm, reason="override", propensity=None)

    def _write(self, ask: Ask, content: str, facts: tuple[Fact, ...], time: datetime) -> None:
        first = self.head.sequence + 1
        records = [Record(sequence, ask.actor, time, fact) for sequence, fact in enumerate(facts, first)]
        stored = list(linked(records, self.head))
        self.records += stored
        self._facts += facts
        self.head = Head(first + len(facts) - 1, stored[-1].hash)
        if ask.key is not None:
            owner = ask.api_key or ""
            self.keys[owner, ask.key] = IdempotencyKey(owner, ask.key, content, first, len(facts))

    def store(self) -> None:
        """Append everything to the log, in the turn under way."""
        if self.records:
            self._storage.append(self.records, self.expected, list(self.keys.values()))


def _fact(event: Event) -> Fact:
    assert not isinstance(event, Opened)
    return event


def _keys_of(asks: Sequence[Ask]) -> list[tuple[str, str]]:
    """Return the keys of asks with their owners; those that cannot be recorded are not there."""
    keyed = ((ask.api_key or "", ask.key) for ask in asks if isinstance(ask, Ask) and ask.key is not None)
    return [(owner, key) for owner, key in keyed if is_label(key) and (owner == "" or is_label(owner))]
