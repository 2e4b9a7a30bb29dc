"""Histories as plain values and arrays, as a snapshot keeps them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.record.codec import decode, encode
from dtrbandit.record.events import ArmClosed, Ended, Event, Held, Released, Upgraded
from dtrbandit.record.features import Context, all_features
from dtrbandit.record.histories import History, UnitRecord, in_order
from dtrbandit.record.snapshot import Snapshot, joined, parted
from dtrbandit.record.tally import Tally
from dtrbandit.record.units import Histories


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
        histories.add_of_trial(_of_trial(decode(line)))
    histories.count, histories.tally = header["events"], Tally.from_dict(header["tally"])
    read = _Reading(histories)
    histories.in_flight.update({fields["unit"]: read.record(fields) for fields in header["in_flight"]})


def _of_trial(event: Event) -> Held | Released | ArmClosed | Ended | Upgraded:
    assert isinstance(event, Held | Released | ArmClosed | Ended | Upgraded)
    return event


def _plain(record: UnitRecord) -> dict[str, Any]:
    """Return the record of a unit in flight as plain values; what follows from others is left out."""
    history = record.history
    amended = {} if record.reported is record.contexts else {"reported": [dict(each) for each in record.reported]}
    rare = {
        "excluded": history.excluded,
        "exclusions": [(m, dict(arms), reason) for m, arms, reason in record.exclusions],
        "amendments": [encode(each) for each in record.amendments],
        "unblinded": [encode(each) for each in record.unblinded],
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


class _Reading:
    """Reads records of units, in the orders of one design."""

    def __init__(self, histories: Histories) -> None:
        self._design: Design = histories.design

    def record(self, fields: Mapping[str, Any]) -> UnitRecord:
        design, unit, node = self._design, fields["unit"], fields["node"]
        contexts, arms = self._contexts(fields["contexts"]), design.tree.arms_to[node]
        excluded = tuple(tuple((m, arm) for m, arm in each) for each in fields.get("excluded", ()))
        features = all_features(design, unit, contexts, arms)
        since = fields["since"]
        return UnitRecord(
            History(unit, fields["round"], node, features, arms, (), None, excluded),
            contexts,
            self._contexts(fields["reported"]) if "reported" in fields else contexts,
            left=fields.get("left", False),
            amendments=self._events(fields.get("amendments", ())),
            exclusions=tuple(
                (m, {stage: tuple(each) for stage, each in named.items()}, reason)
                for m, named, reason in fields.get("exclusions", ())
            ),
            site=fields.get("site"),
            unblinded=self._events(fields.get("unblinded", ())),
            since=None if since is None else datetime.fromisoformat(since),
        )

    def _contexts(self, found: Iterable[dict[str, float]]) -> tuple[Context, ...]:
        return tuple([in_order(self._design, m, each) for m, each in enumerate(found)])

    def _events(self, lines: Iterable[str]) -> Any:
        return tuple([decode(line) for line in lines])
