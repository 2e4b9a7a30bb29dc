"""What Table 1 compares, what the paper found (label "table: stard"), and the two versions of how it is computed.

One is as the published numbers were, the other as the paper's text has it. The text is silent, or differs, in four
places. The models of staying and of the second choice: the computation has end₁ in the former, and no start₂ in the
latter. Thresholds: it has Δ at stage 1 and Δ/2 at stage 2, in units of Y. LSVI-UCB: it saw features and outcomes
divided, so that each stage's reward lies between −1 and 0; of that the text says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dtrbandit.evaluation import PropensityModel
from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, Greedy
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.lsvi_ucb import Bound

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


PENALTY = 1.0  # scikit-learn's default, C = 1
FIRST_CHOICE = "1 + qids_start1 + qids_slope1 + preference1"
BOTH = "qids_start1*C(first) + qids_slope1*C(first) + preference1*C(first)"  # x₁, a₁ and their products


@dataclass(frozen=True, kw_only=True)
class Version:
    """The models of propensities, the thresholds of DTRBandit, and the scales of LSVI-UCB."""

    staying: str
    second_choice: str
    late: float  # times Δ: the threshold of stage 2
    bound: Bound
    scale: float

    def propensity_model(self, *, penalty: float = PENALTY) -> PropensityModel:
        """Return the three logistic models: first choice, staying until stage 2, second choice."""
        choice = {"first": FIRST_CHOICE, "second": self.second_choice}
        return PropensityModel(choice=choice, staying={"second": self.staying}, penalty=penalty)

    @property
    def online(self) -> Mapping[str, BuiltinPolicy]:
        """The online algorithms, by the names of the entries."""
        optimist = LSVIUCB(bound=self.bound, scale=self.scale)
        return MappingProxyType(
            {
                **{named(q, d): DTRBandit(q=q, delta=(float(d), d * self.late)) for q in QS for d in DELTAS},
                LSVI_UCB: replace(optimist, leavers="optimistic"),  # as in the paper's table (docs/readings.md, 1)
                OBSERVED: optimist,
                "Greedy": Greedy(),
                "0.1-Greedy": EpsilonGreedy(epsilon=0.1),
                "0.2-Greedy": EpsilonGreedy(epsilon=0.2),
            }
        )


COMPUTED = Version(
    staying=f"{BOTH} + qids_end1 + qids_slope2",
    second_choice=f"{BOTH} + qids_end1 + qids_slope2 + preference2",
    late=0.5,
    bound=((1.0, 26.0, 10.0, 1.0),) * 2,  # 1, scores, slopes, preference
    scale=13.0,  # Y lies between −26 and 0, and there are two stages
)
TEXT = Version(
    staying=f"{BOTH} + qids_slope2",
    second_choice=f"{BOTH} + qids_end1 + qids_start2 + qids_slope2 + preference2",
    late=1.0,
    bound=((2.0, 52.0, 20.0, 2.0),) * 2,  # the same, and √d = 2, so that ‖φ‖ ≤ 1
    scale=1.0,
)
