"""What Table 1 compares, and what the paper found (label "table: stard")."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, Greedy
from dtrbandit.policies.compiled_policy import CompiledPolicy

QS, DELTAS = (1, 2), (10, 20, 50)
LOGGING, OFFLINE, LSVI_UCB, OBSERVED = "Logging", "Offline", "LSVI-UCB", "LSVI-UCB observed"
BOUND = ((2.0, 52.0, 20.0, 2.0),) * 2  # 1, scores / 26, slopes / 10, preference: each at most 1 or so; and √d = 2


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
ONLINE: Mapping[str, CompiledPolicy] = MappingProxyType(
    {
        **{named(q, delta): DTRBandit(q=q, delta=float(delta)) for q in QS for delta in DELTAS},
        LSVI_UCB: LSVIUCB(bound=BOUND, leavers="optimistic"),  # as in the paper's table (docs/readings.md, 1)
        OBSERVED: LSVIUCB(bound=BOUND),
        "Greedy": Greedy(),
        "0.1-Greedy": EpsilonGreedy(epsilon=0.1),
        "0.2-Greedy": EpsilonGreedy(epsilon=0.2),
    }
)
