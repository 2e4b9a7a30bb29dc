"""What is asked of a trial: each ask is answered and believed in turn, and what many led to is stored at once.

An ask for a site is about its own units, and about no others. To a site, a unit of another site and one that does not
exist look alike: otherwise it could try ids, and count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError, DTRError, NotAllowed, ObservationError, ProtocolError
from dtrbandit.record.chain import Head, Record, Stored, linked, record_of
from dtrbandit.record.commands import Command, Enroll
from dtrbandit.record.events import Assigned, Decision, Event, Fact, Opened, Overridden
from dtrbandit.record.units import Histories
from dtrbandit.storage.store import IdempotencyKey
from dtrbandit.trial.followed import FollowedLog
from dtrbandit.trial.ledger import checked_alone
from dtrbandit.trial.state import require_log

Clock = Callable[[], datetime]


class Ask(NamedTuple):
    """A command, who gives it, and the key under which it may be repeated.

    Attributes
    ----------
    actor
        Who is on record with it; None where nobody said.
    key
        An idempotency key: the same command under it gets the recorded reply, another one is refused.
    api_key
        The id of the API key that the idempotency key belongs to.
    site
        The site for which it is asked: other sites' units are not its own. None: for all of them.
    log
        The log that it is meant for, ``"rehearsal"`` or ``"live"``; for the other one it is refused. None: for
        whichever is written.
    """

    command: Command
    actor: str | None = None
    key: str | None = None
    api_key: str | None = None
    site: str | None = None
    log: str | None = None


class Taken(NamedTuple):
    """What a command led to, now that it is stored for good.

    Attributes
    ----------
    decision
        What was asked for; None where there is none.
    facts
        The facts on record for it; none for a repetition that needed no key.
    repeated
        Whether it was on record before.
    """

    decision: Decision | None
    facts: tuple[Fact, ...]
    repeated: bool


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
        self._answers: dict[IdempotencyKey, Taken] = {}  # to asks under these keys
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
        taken = Taken(decision, facts, not facts)
        if facts:
            time = self._clock()
            self._belief.learn(facts, record, arrived, time.astimezone(UTC))
            self._write(ask, content, taken, time)
        return taken

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
        """Return again what a request under a key led to, in this batch or by the log."""
        if known in self._answers:
            return self._answers[known]._replace(repeated=True)
        numbers = range(known.sequence, known.sequence + known.facts)
        found = checked_alone(self._storage, list(zip(numbers, self._storage.pick(numbers), strict=True)))
        facts = tuple(_fact(record_of(each.text, number).event) for number, each in found)
        return Taken(self._decision(facts[-1]), facts, True)

    def _decision(self, fact: Fact) -> Decision | None:
        """Return the decision that was replied when a fact was recorded."""
        if isinstance(fact, Assigned):
            return fact.decision
        if not isinstance(fact, Overridden):
            return None
        decision = self._belief.histories.decisions(fact.unit)[self._belief.design.stage_number(fact.stage)]
        return decision._replace(arm=fact.arm, reason="override", propensity=None)

    def _write(self, ask: Ask, content: str, taken: Taken, time: datetime) -> None:
        first = self.head.sequence + 1
        records = [Record(sequence, ask.actor, time, fact) for sequence, fact in enumerate(taken.facts, first)]
        self.records += linked(records, self.head)
        self.head = Head(first + len(records) - 1, self.records[-1].hash)
        if ask.key is not None:
            key = IdempotencyKey(ask.api_key or "", ask.key, content, first, len(records))
            self.keys[key.owner, key.key] = key
            self._answers[key] = taken

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


# -- what may be asked -------------------------------------------------------------------------------------------


def is_label(text: object) -> bool:
    """Say whether an actor or a key can be recorded."""
    return isinstance(text, str) and 0 < len(text) <= 200 and text.isprintable()


def check_label(text: object, what: str) -> None:
    """Refuse an actor or a key that cannot be recorded."""
    if text is not None and not is_label(text):
        raise ObservationError(f"{what} must be a printable text of 1 to 200 characters, or None, found {shown(text)}")


def fingerprint(command: Command) -> str:
    """Return a hash of a command's content. Numbers count by their value: 1 is 1.0.

    Examples
    --------
    >>> from dtrbandit.record.commands import Complete
    >>> fingerprint(Complete("u1", 1)) == fingerprint(Complete("u1", 1.0)) != fingerprint(Complete("u1", 2.0))
    True
    """
    fields = command._asdict()
    if fields.get("site", "") is None:
        del fields["site"]  # as it was before there were sites: keys from then still hold
    content = [type(command).__name__, *(_plain(each) for each in fields.values())]
    return sha256(_ENCODER.encode(content).encode()).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, default=repr)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    number = as_float(value)
    return number if number == value else value


def require_own(histories: Histories, command: Command, site: str) -> None:
    """Refuse a command that is not about a unit of a site. Whether it can enrol a unit is left to the session."""
    if isinstance(command, Enroll):
        if command.site != site:
            raise NotAllowed(f"a key of site {site!r} enrols units of that site, found {shown(command.site)}")
        return
    unit = getattr(command, "unit", None)
    if not isinstance(unit, str):
        raise NotAllowed(f"{type(command).__name__} is about the trial as a whole, and a site acts on its own units")
    require_unit_of(histories, unit, site)


def require_unit_of(histories: Histories, unit: str, site: str) -> None:
    """Refuse a unit that a site has not enrolled, without a word about whether another one has."""
    record = histories.get(histories.known_id(unit))
    if record is None or record.site != site:
        raise NotAllowed(f"unit {unit!r} is not one of site {site!r}; look at the id, or ask the site that enrolled it")
