"""What ``record/forms.py`` needs of the reader of events, until it is gone."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from dtrbandit.record import codec
from dtrbandit.record.codec import Entries

__all__ = ["ASSIGNED", "Entries", "Order", "Reader", "plain_document"]

# of a decision, sorted
ASSIGNED = ("arm", "contenders", "event", "propensity", "q_hat", "q_tilde", "reason", "round", "stage", "unit")


def plain_document(text: bytes) -> Entries | None:
    """Return the JSON object that a text holds; None unless orjson writes it as it stands there."""
    try:
        found = orjson.loads(text)
        if type(found) is dict and orjson.dumps(found) == text:
            return found
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return None


class Order(NamedTuple):
    """Labels in the order of the design, and as a text has them."""

    labels: tuple[str, ...]

    @property
    def as_text(self) -> tuple[str, ...]:
        """The labels, sorted."""
        return tuple(sorted(self.labels))


class Reader(codec.Reader):
    """The reader, with the orders of a log's numbers by stage."""

    @property
    def columns(self) -> dict[str, Order]:
        """The order of columns."""
        return {stage: Order(labels.columns.labels) for stage, labels in self.labels.items()}

    @property
    def arms(self) -> dict[str, Order]:
        """The order of arms."""
        return {stage: Order(labels.arms.labels) for stage, labels in self.labels.items()}

    @property
    def first(self) -> Order | None:
        """The order of columns of the first stage."""
        return self.columns.get("")
