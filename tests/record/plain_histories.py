"""All that histories know, as plain values: equal means the same content, order and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from dtrbandit.record import Histories
from dtrbandit.record.histories import UnitRecord
from dtrbandit.record.values import Values


def plain(value: Any) -> Any:
    """Return a value so that equal means the same content, order and bits; packed numbers are a mapping like others."""
    match value:
        case UnitRecord():
            return {name: plain(getattr(value, name)) for name in UnitRecord.__slots__}
        case np.ndarray():
            return value.dtype.str, value.shape, value.tobytes()
        case tuple():
            return type(value).__name__, [plain(each) for each in value]
        case Values() | dict():
            return "mapping", [(key, plain(each)) for key, each in value.items()]
        case float():
            return value.hex()
        case _:
            return type(value).__name__, value


def all_of(histories: Histories) -> dict[str, Any]:
    """Return all that histories know, as plain values. Which order a set has does not matter."""
    return {
        "count": histories.count,
        "names": histories.names,
        "rounds": [*histories.rounds.items()],
        "in_flight": [(unit, plain(record)) for unit, record in histories.in_flight.items()],
        "records": [plain(record) for record in histories],
        "accrual": [*histories.accrual.items()],
        "closed": [*histories.closed.items()],
        "barred": histories.barred,
        "ended": histories.ended,
        "numerics": histories.numerics,
        "upgrades": histories.upgrades,
        "taught": sorted(histories.taught),
        "tally": histories.tally.to_dict(),
    }
