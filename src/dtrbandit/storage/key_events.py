"""What happened to the API keys of a store: a record that is only added to, chained as the logs of trials are.

It is the log ``KEY_LOG``. Each event says what happened to one key, and how the key is since. Folded, the events give
the table of keys. A key's hash and its salt are in the table alone; the event has a seal of the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from dtrbandit.design.values import shown
from dtrbandit.errors import LogError, NotFound, ProtocolError
from dtrbandit.record.chain import EMPTY, Head, Stored, checked, entries_of, linked, time_of, time_text
from dtrbandit.record.values import accept_words
from dtrbandit.storage.store import KEY_LOG, ApiKey, IdempotencyKey, Store
from dtrbandit.words import counted

CREATED, ROTATED, REVOKED, FOUND, LOST = "KeyCreated", "KeyRotated", "KeyRevoked", "KeyFound", "KeyLost"
BEGINNINGS, ENDINGS = (CREATED, FOUND), (ROTATED, REVOKED)
MIGRATION = "step 2 of the tables"  # the actor on record where keys were there before their record began


class KeyEvent(NamedTuple):
    """What happened to a key, and how it is since. Times are texts.

    Attributes
    ----------
    event
        ``KeyCreated``, ``KeyRotated``, ``KeyRevoked``; ``KeyFound``: it was there when the record began. With a reason,
        ``KeyFound`` and ``KeyLost`` say that its row was changed or removed by something else, and was accepted so.
    seal
        The SHA-256 of the key's hash and salt, which stand in the table of keys.
    successor
        The id of the key that takes over, of a key that was rotated.
    reason
        Why a row was accepted that something else had changed or removed. Other events have none.
    """

    event: str
    id: str
    role: str
    label: str
    created: str
    expires: str | None
    revoked: str | None
    trial: str | None
    site: str | None
    seal: str
    successor: str | None = None
    reason: str | None = None

    def entries(self) -> dict[str, str | None]:
        """Return what is stored: a reason only where there is one."""
        return {name: value for name, value in self._asdict().items() if (name, value) != ("reason", None)}

    def row(self, now: ApiKey) -> ApiKey:
        """Return the key as it was then, from the row that is there now."""
        return now._replace(**{name: getattr(self, name) for name in ApiKey._fields if name in self._fields})


class KeyRecord(NamedTuple):
    """An event as it is stored: its number, from 1, who did it, and when."""

    sequence: int
    actor: str | None
    time: datetime | None
    event: KeyEvent

    @property
    def text(self) -> str:
        """The record as it is stored."""
        time = None if self.time is None else time_text(self.time)
        entries = {**self._asdict(), "event": self.event.entries(), "time": time}
        return json.dumps(entries, sort_keys=True, separators=(",", ":"))


class Change(NamedTuple):
    """How a key is from now on, and by what."""

    event: str
    row: ApiKey
    successor: str | None = None
    reason: str | None = None

    def recorded(self) -> KeyEvent:
        """Return the event that says so."""
        row = self.row
        seal = sha256(f"{row.sha256} {row.salt}".encode()).hexdigest()
        times = (row.created, row.expires, row.revoked)
        more = (seal, self.successor, self.reason)
        return KeyEvent(self.event, row.id, row.role, row.label, *times, row.trial, row.site, *more)


class Request(NamedTuple):
    """An idempotency key under which a change was asked for: whose it is, and a hash of what was asked."""

    owner: str
    key: str
    fingerprint: str


def change_keys(
    store: Store, changes: Sequence[Change], *, actor: str, time: datetime, request: Request | None = None
) -> None:
    """Change keys and record it: both, or neither."""
    with store.turn():
        log = store.log(KEY_LOG)
        head = log.head()
        keys = [] if request is None else [IdempotencyKey(*request, head.sequence + 1, len(changes))]
        log.append(list(_stored(changes, actor, time, head)), head.sequence, keys)
        for change in changes:
            store.put_api_key(change.row)


def found_before(rows: Iterable[ApiKey], time: datetime) -> Iterator[Stored]:
    """Give the first records of a store whose keys are older than their record."""
    return _stored([Change(FOUND, row) for row in rows], MIGRATION, time, EMPTY)


def _stored(changes: Sequence[Change], actor: str, time: datetime, head: Head) -> Iterator[Stored]:
    numbered = enumerate(changes, head.sequence + 1)
    return linked((KeyRecord(number, actor, time, change.recorded()) for number, change in numbered), head)


def key_records(store: Store) -> Iterator[KeyRecord]:
    """Give all that happened to keys, in order. Refuse the first record that is not as it was written."""
    return _read(store.log(KEY_LOG).read())


def key_record(store: Store, sequence: int) -> KeyRecord:
    """Return one record of what happened to keys."""
    (stored,) = store.log(KEY_LOG).pick([sequence])
    return _record_of(stored.text, sequence)


def _read(stored: Iterable[Stored]) -> Iterator[KeyRecord]:
    for sequence, each in enumerate(checked(stored), 1):
        yield _record_of(each.text, sequence)


def _record_of(text: bytes, sequence: int) -> KeyRecord:
    entries = entries_of(text, sequence)
    found, actor = entries["event"], entries["actor"]
    texts = all(each is None or isinstance(each, str) for each in (actor, *found.values()))
    if not texts or set(found) | {"reason"} != set(KeyEvent._fields):
        raise LogError(f"record {sequence}: found {shown(found)}, expected an event of a key", sequence=sequence)
    return KeyRecord(sequence, actor, time_of(text, sequence), KeyEvent(**found))


def fold(records: Iterable[KeyRecord]) -> dict[str, KeyRecord]:
    """Return the last event of each key, by its id. Refuse an event that cannot follow from those before it."""
    last: dict[str, KeyRecord] = {}
    for record in records:
        _require_next(record, last)
        last[record.event.id] = record
    return last


def _require_next(record: KeyRecord, last: dict[str, KeyRecord]) -> None:
    event, before = record.event, last.get(record.event.id)
    if event.event == FOUND and event.reason is not None:
        return  # something else had changed the key, and somebody accepted it so
    if (before is None) != (event.event in BEGINNINGS):
        earlier = "no record" if before is None else f"record {before.sequence}"
        raise _wrong(record, f"{event.event} of key {event.id}, of which {earlier} comes before")
    if before is None:
        return
    if event.event not in (ENDINGS if event.reason is None else (LOST,)) or event != _revised(before.event, event):
        raise _wrong(record, f"it changes more of key {event.id} than when it ends")
    if event.event == ROTATED and event.successor not in last:
        raise _wrong(record, f"it names the successor {event.successor!r}, which was not created")


def _revised(before: KeyEvent, event: KeyEvent) -> KeyEvent:
    """Return an earlier event with what a later one may change."""
    return before._replace(event=event.event, revoked=event.revoked, successor=event.successor, reason=event.reason)


def _wrong(record: KeyRecord, why: str) -> LogError:
    return LogError(f"record {record.sequence}: {why}", sequence=record.sequence)


# -- proof -------------------------------------------------------------------------------------------------------


def key_fault(store: Store, against: Head | None = None) -> str | None:
    """Say what is wrong with the record of keys, or with the keys held against it; None if all is in order.

    ``against`` is a head of the record that was kept elsewhere.
    """
    return key_record_fault(store, against) or next(iter(changed_keys(store)), None)


def key_record_fault(store: Store, against: Head | None = None) -> str | None:
    """Say what is wrong with the record of keys itself."""
    try:
        head = store.log(KEY_LOG).head()
        stored = list(islice(store.log(KEY_LOG).read(), head.sequence))
        fold(_read(stored))
    except LogError as error:
        return f"of the record of keys, {error}"
    if against is not None and (len(stored) < against.sequence or _hash(stored, against.sequence) != against.hash):
        return f"the record of keys was cut or changed: it does not go on from {against.sequence}:{against.hash}"
    return _lost_request(store, head)


def changed_keys(store: Store) -> list[str]:
    """Say of each key that is another in the table than on record what differs, in the order of their ids."""
    head, rows = _same_moment(store)
    last, found = fold(_read(islice(store.log(KEY_LOG).read(), head.sequence))), {row.id: row for row in rows}
    differences = (_difference(name, last.get(name), found.get(name)) for name in sorted({*last, *found}))
    return [each for each in differences if each is not None]


def is_changed(store: Store, name: str) -> bool:
    """Say whether a key is another in the table of keys than on record. A record that is damaged cannot tell."""
    try:
        record = fold(key_records(store)).get(name)
    except LogError:
        return False
    return _difference(name, record, _row(store, name)) is not None


def _row(store: Store, name: str) -> ApiKey | None:
    return next((each for each in store.api_keys() if each.id == name), None)


def accept_key(store: Store, name: str, *, reason: str, actor: str, time: datetime) -> KeyEvent:
    """Record a key as it is in the table of keys, or that it is not there, after something else has changed that.

    The table stays as it is. Refused if the key is as its record says, and if the record itself is damaged.
    """
    accept_words(reason, f"the key {name!r}")
    with store.turn():
        before = fold(key_records(store)).get(name)
        row = _row(store, name)
        if before is None and row is None:
            raise NotFound(f"there is no key {name!r}, neither in the table of keys nor on record")
        if _difference(name, before, row) is None:
            raise ProtocolError(f"the key {name!r} is as the record of keys says; there is nothing to accept")
        event = _as_found(before, row, reason)
        log = store.log(KEY_LOG)
        head = log.head()
        log.append(list(linked([KeyRecord(head.sequence + 1, actor, time, event)], head)), head.sequence)
    return event


def _as_found(before: KeyRecord | None, row: ApiKey | None, reason: str) -> KeyEvent:
    successor = None if before is None else before.event.successor
    if row is not None:
        return Change(FOUND, row, successor, reason).recorded()
    assert before is not None
    return before.event._replace(event=LOST, reason=reason)


def _same_moment(store: Store) -> tuple[Head, list[ApiKey]]:
    """Return the head of the record and the keys of the same moment, without a turn: others may write meanwhile."""
    log = store.log(KEY_LOG)
    while True:
        head, rows = log.head(), store.api_keys()
        if log.head() == head:
            return head, rows


def _hash(stored: Sequence[Stored], sequence: int) -> str:
    return stored[sequence - 1].hash if sequence else EMPTY.hash


def _difference(name: str, record: KeyRecord | None, row: ApiKey | None) -> str | None:
    """Say in what a key is another in the table than on record."""
    if record is None:
        return f"the key {name} is in the table of keys, and no record says that it was created"
    event = record.event
    if row is None and event.event != LOST:
        return f"the key {name} is not in the table of keys; record {record.sequence} of the record of keys has it"
    if row is not None and Change(event.event, row, event.successor, event.reason).recorded() != event:
        return f"the key {name} in the table of keys is not as record {record.sequence} of the record of keys says"
    if row is not None and event.event == LOST:
        return f"the key {name} is in the table of keys; by record {record.sequence} of the record of keys it was lost"
    return None


def _lost_request(store: Store, head: Head) -> str | None:
    for key in store.log(KEY_LOG).all_keys():
        if not 0 < key.sequence < key.sequence + key.facts <= head.sequence + 1:
            return f"the idempotency key {key.key!r} belongs to records of keys that are not there"
    return None


def describe_keys(store: Store) -> str:
    """Return, of a record of keys that is in order, how long it is and its head."""
    head = store.log(KEY_LOG).head()
    records = counted(head.sequence, "record")
    return (
        f"{records} of keys: the chain is whole, and the keys are what it says. Its head is {head.sequence}:{head.hash}"
    )
