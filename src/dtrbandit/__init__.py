"""DTR bandits: learn which treatment to give first and which next, while treating.

>>> import dtrbandit as dtr
>>> design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
>>> session = dtr.Session(design, dtr.DTRBandit(q=1, delta=10.0), seed=0)
>>> print(session.enroll("u1", {"x": 0.2}))
Unit u1 (round 1), stage first: give a.
Reason: forced; this round is scheduled to try this arm, whatever the estimates say.
There are no estimates.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dtrbandit._version import NUMERICS, __version__

if TYPE_CHECKING:
    from dtrbandit.design import Design, Stage
    from dtrbandit.engine import Session, verify
    from dtrbandit.errors import (
        Conflict,
        DesignError,
        DTRError,
        LogError,
        NotEstimable,
        ObservationError,
        ProtocolError,
    )
    from dtrbandit.evaluation import Bootstrap, Cohort, OutcomeModel, PropensityModel, QLearning, Replay, Values
    from dtrbandit.evaluation.replay.algorithm_2 import replay
    from dtrbandit.evaluation.values.evaluate import evaluate
    from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, FixedRegime, Greedy, UniformRandom, suggested_beta
    from dtrbandit.record import (
        Complete,
        Correct,
        Decision,
        Enroll,
        Override,
        Reply,
        Respond,
        Withdraw,
        read_log,
        write_log,
    )
    from dtrbandit.simulation import Study, StudyError, StudyInterrupted, load_study, simulate

_HOMES = {
    "design": ("Design", "Stage"),
    "engine": ("Session", "verify"),
    "errors": ("Conflict", "DTRError", "DesignError", "LogError", "NotEstimable", "ObservationError", "ProtocolError"),
    "evaluation": (
        "Bootstrap", "Cohort", "OutcomeModel", "PropensityModel", "QLearning", "Replay", "Values", "evaluate", "replay",
    ),
    "policies": (
        "LSVIUCB", "DTRBandit", "EpsilonGreedy", "FixedRegime", "Greedy", "UniformRandom", "suggested_beta",
    ),
    "record": (
        "Complete", "Correct", "Decision", "Enroll", "Override", "Reply", "Respond", "Withdraw", "read_log",
        "write_log",
    ),
    "simulation": ("Study", "StudyError", "StudyInterrupted", "load_study", "simulate"),
}  # fmt: skip

__all__ = [
    "LSVIUCB",
    "NUMERICS",
    "Bootstrap",
    "Cohort",
    "Complete",
    "Conflict",
    "Correct",
    "DTRBandit",
    "DTRError",
    "Decision",
    "Design",
    "DesignError",
    "Enroll",
    "EpsilonGreedy",
    "FixedRegime",
    "Greedy",
    "LogError",
    "NotEstimable",
    "ObservationError",
    "OutcomeModel",
    "Override",
    "PropensityModel",
    "ProtocolError",
    "QLearning",
    "Replay",
    "Reply",
    "Respond",
    "Session",
    "Stage",
    "Study",
    "StudyError",
    "StudyInterrupted",
    "UniformRandom",
    "Values",
    "Withdraw",
    "__version__",
    "evaluate",
    "load_study",
    "read_log",
    "replay",
    "simulate",
    "suggested_beta",
    "verify",
    "write_log",
]


if not TYPE_CHECKING:  # a type checker knows the names above, and should know no others

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for: the package itself loads at once."""
        for home, names in _HOMES.items():
            if name in names:
                value: object = getattr(import_module(f"{__name__}.{home}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
