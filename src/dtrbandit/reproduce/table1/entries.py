"""What Table 1 compares, and what the paper found (label "table: stard")."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

QS, DELTAS = (1, 2), (10, 20, 50)
LOGGING, OFFLINE, LSVI_UCB, OBSERVED = "Logging", "Offline", "LSVI-UCB", "LSVI-UCB observed"


def named(q: int, delta: int) -> str:
    """Return the paper's name of DTRBandit with these parameters."""
    return f"DTRB({q}, {delta})"


DTRB = tuple(named(q, delta) for q in QS for delta in DELTAS)
PAPER: Mapping[str, float] = MappingProxyType(
    {
        **dict(zip(DTRB, (-7.680, -7.561, -7.552, -7.688, -7.604, -7.547), strict=True)),
        LOGGING: -8.438,
        LSVI_UCB: -8.071,
        "Greedy": -7.810,
        "0.1-Greedy": -7.724,
        "0.2-Greedy": -7.835,
        OFFLINE: -7.688,
    }
)
ENTRIES = tuple(name for entry in PAPER for name in ((entry, OBSERVED) if entry == LSVI_UCB else (entry,)))
ONLINE = tuple(name for name in ENTRIES if name not in (LOGGING, OFFLINE))
