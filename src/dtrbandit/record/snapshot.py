"""Snapshots: histories as plain values and arrays, and these as bytes, and back.

The bytes are a JSON header, raw arrays, and a SHA-256 over both. No code can be in it. A snapshot holds what a log
leads to at one record, so that opening a trial need not read all records before it. It is a cache: the log alone
decides, and whatever is wrong with a snapshot means that it is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.errors import LogError
from dtrbandit.record.codec import decode, encode
from dtrbandit.record.events import Event
from dtrbandit.record.histories import Context, History, UnitRecord, all_features, in_order
from dtrbandit.record.units import Histories, Tally

MAGIC = b"dtrbandit snapshot\n"
VERSION = 2  # of what a header and its arrays hold
LENGTH = 8  # bytes that say how long the header is
DIGEST = sha256().digest_size
ALIGNED = 8  # bytes: where arrays begin


class Snapshot(NamedTuple):
    """Plain values and arrays, by name."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def to_bytes(self) -> bytes:
        """Return it as bytes."""
        entries, parts, place = [], list[bytes](), 0
        for name, array in self.arrays.items():
            raw = np.ascontiguousarray(array).tobytes()
            entries.append([name, array.dtype.str, list(array.shape), place])
            parts.append(raw + bytes(-len(raw) % ALIGNED))
            place += len(parts[-1])
        header = json.dumps({"version": VERSION, "arrays": entries, **self.header}, separators=(",", ":")).encode()
        header += b" " * (-(len(MAGIC) + LENGTH + len(header)) % ALIGNED)
        body = b"".join([MAGIC, len(header).to_bytes(LENGTH, "little"), header, *parts])
        return body + sha256(body).digest()

    @staticmethod
    def from_bytes(content: bytes) -> Snapshot:
        """Return the snapshot that ``to_bytes`` wrote. Its arrays cannot be written to.

        Examples
        --------
        >>> found = Snapshot.from_bytes(Snapshot({"sequence": 3}, {"beta": np.array([1.0, 2.5])}).to_bytes())
        >>> found.header["sequence"], found.arrays["beta"].tolist()
        (3, [1.0, 2.5])
        """
        body, start = memoryview(content)[:-DIGEST], len(MAGIC) + LENGTH
        if len(content) < start + DIGEST or sha256(body).digest() != content[-DIGEST:] or body[: len(MAGIC)] != MAGIC:
            raise LogError("it is damaged, or no snapshot")
        end = start + int.from_bytes(body[len(MAGIC) : start], "little")
        header = json.loads(bytes(body[start:end]))
        if header.pop("version") != VERSION:
            raise LogError("another release wrote it")
        arrays = {}
        for name, kind, shape, place in header.pop("arrays"):
            array = np.zeros(shape, kind)
            raw = body[end + place : end + place + array.nbytes]
            arrays[name] = np.frombuffer(raw, kind).reshape(shape) if array.size else array
        return Snapshot(header, arrays)


def joined(texts: list[str]) -> NDArray[np.uint8]:
    """Return texts without line breaks as one array of bytes."""
    return np.array(bytearray("\n".join(texts).encode()), dtype=np.uint8)


def parted(array: NDArray[np.uint8]) -> list[str]:
    """Return the texts that ``joined`` made one array of; none of them was empty."""
    text = array.tobytes().decode()
    return text.split("\n") if text else []


# -- histories --------------------------------------------------------------------------------------------------------

# the fields of a unit's record that are facts
FACT_FIELDS: list[Any] = [each.name for each in fields(UnitRecord) if each.default == () and each.name != "exclusions"]


class Frozen(NamedTuple):
    """Histories as they were. It is made in little time, since verbs wait for it, and encoded afterwards."""

    events: int  # so many are on record
    names: list[str]
    in_flight: list[UnitRecord]
    of_trial: list[tuple[int, Event]]  # what concerns the trial as a whole; upgrades with their numbers
    taught: list[str]
    tally: dict[str, Any]

    def snapshot(self) -> Snapshot:
        """Return it as plain values and arrays."""
        header = {
            "events": self.events,
            "of_trial": [[place, encode(fact)] for place, fact in self.of_trial],
            "in_flight": [_plain(record) for record in self.in_flight],
            "tally": self.tally,
        }
        return Snapshot(header, {"names": joined(self.names), "taught": joined(self.taught)})


def frozen(histories: Histories) -> Frozen:
    """Return histories as they are now."""
    facts: list[Event] = [*histories.accrual.values(), *histories.closed.values()]
    if histories.ended is not None:
        facts.append(histories.ended)
    return Frozen(
        histories.count,
        histories.names.copy(),
        [record.copy() for record in histories.in_flight.values()],
        [*((0, fact) for fact in facts), *histories.upgrades],
        sorted(histories.taught),  # the order of a set differs from process to process
        histories.tally.to_dict(),
    )


def restore(histories: Histories, found: Snapshot) -> None:
    """Know what a snapshot says. The histories must be new."""
    header = found.header
    for unit in parted(found.arrays["names"]):
        histories.add_name(unit)
    histories.taught.update(parted(found.arrays["taught"]))
    for place, line in header["of_trial"]:
        histories.count = place  # by which an upgrade is known
        histories.add_of_trial(decode(line))  # type: ignore[arg-type]  # a snapshot holds facts of the trial alone
    histories.count, histories.tally = header["events"], Tally.from_dict(header["tally"])
    records = [_record(histories.design, each) for each in header["in_flight"]]
    histories.in_flight.update({record.history.unit: record for record in records})


def _plain(record: UnitRecord) -> dict[str, Any]:
    """Return the record of a unit in flight as plain values; what follows from others is left out."""
    history = record.history
    amended = {} if record.reported is record.contexts else {"reported": [dict(each) for each in record.reported]}
    rare = {
        "excluded": history.excluded,
        "exclusions": [(m, dict(arms), reason) for m, arms, reason in record.exclusions],
        **{name: [encode(each) for each in getattr(record, name)] for name in FACT_FIELDS},
        "site": record.site,
        "left": record.left,
    }
    return {
        "unit": history.unit,
        "round": history.round,
        "node": history.node,
        "contexts": [dict(each) for each in record.contexts],
        "since": None if record.since is None else record.since.isoformat(),
        **amended,
        **{name: value for name, value in rare.items() if value},
    }


def _record(design: Design, found: Mapping[str, Any]) -> UnitRecord:
    """Return the record of a unit that ``_plain`` wrote."""
    unit, node, since = found["unit"], found["node"], found["since"]
    contexts, arms = _contexts(design, found["contexts"]), design.tree.arms_to[node]
    excluded = tuple(tuple((m, arm) for m, arm in each) for each in found.get("excluded", ()))
    rare: dict[str, Any] = {name: tuple([decode(line) for line in found.get(name, ())]) for name in FACT_FIELDS}
    rare |= {name: found[name] for name in ("site", "left") if name in found}
    return UnitRecord(
        History(unit, found["round"], node, all_features(design, unit, contexts, arms), arms, (), None, excluded),
        contexts,
        _contexts(design, found["reported"]) if "reported" in found else contexts,
        exclusions=tuple(
            (m, {stage: tuple(each) for stage, each in named.items()}, reason)
            for m, named, reason in found.get("exclusions", ())
        ),
        since=None if since is None else datetime.fromisoformat(since),
        **rare,
    )


def _contexts(design: Design, found: Iterable[dict[str, float]]) -> tuple[Context, ...]:
    return tuple([in_order(design, m, each) for m, each in enumerate(found)])
