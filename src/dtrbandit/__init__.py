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
    from dtrbandit.belief import verify
    from dtrbandit.design import Design, Stage
    from dtrbandit.engine import Session
    from dtrbandit.errors import (
        Conflict,
        DesignError,
        DTRError,
        LogError,
        NotAllowed,
        NotEstimable,
        NotFound,
        ObservationError,
        OtherLog,
        ProtocolError,
        Unavailable,
    )
    from dtrbandit.evaluation import Bootstrap, Cohort, OutcomeModel, PropensityModel, QLearning, Replay, Values
    from dtrbandit.evaluation.looks import Looks, monitor
    from dtrbandit.evaluation.replay.comparison import compare
    from dtrbandit.evaluation.replay.replay import replay
    from dtrbandit.evaluation.values.evaluate import evaluate
    from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, FixedRegime, Greedy, UniformRandom, suggested_beta
    from dtrbandit.record import (
        CloseArm,
        Complete,
        Correct,
        Decision,
        End,
        Enroll,
        Hold,
        Override,
        Release,
        Reply,
        Respond,
        Unblind,
        Upgrade,
        Void,
        Withdraw,
        read_log,
        write_log,
    )
    from dtrbandit.simulation import Closing, Study, StudyError, StudyInterrupted, load_study, simulate
    from dtrbandit.trial import Trial

_HOMES = {
    "design": ("Design", "Stage"),
    "belief": ("verify",),
    "engine": ("Session",),
    "errors": (
        "Conflict", "DTRError", "DesignError", "LogError", "NotAllowed", "NotEstimable", "NotFound",
        "ObservationError", "OtherLog", "ProtocolError", "Unavailable",
    ),
    "evaluation": (
        "Bootstrap", "Cohort", "Looks", "OutcomeModel", "PropensityModel", "QLearning", "Replay", "Values", "compare",
        "evaluate", "monitor", "replay",
    ),
    "policies": (
        "LSVIUCB", "DTRBandit", "EpsilonGreedy", "FixedRegime", "Greedy", "UniformRandom", "suggested_beta",
    ),
    "record": (
        "CloseArm", "Complete", "Correct", "Decision", "End", "Enroll", "Hold", "Override", "Release", "Reply",
        "Respond", "Unblind", "Upgrade", "Void", "Withdraw", "read_log", "write_log",
    ),
    "simulation": ("Closing", "Study", "StudyError", "StudyInterrupted", "load_study", "simulate"),
    "trial": ("Trial",),
}  # fmt: skip

__all__ = [
    "LSVIUCB",
    "NUMERICS",
    "Bootstrap",
    "CloseArm",
    "Closing",
    "Cohort",
    "Complete",
    "Conflict",
    "Correct",
    "DTRBandit",
    "DTRError",
    "Decision",
    "Design",
    "DesignError",
    "End",
    "Enroll",
    "EpsilonGreedy",
    "FixedRegime",
    "Greedy",
    "Hold",
    "LogError",
    "Looks",
    "NotAllowed",
    "NotEstimable",
    "NotFound",
    "ObservationError",
    "OtherLog",
    "OutcomeModel",
    "Override",
    "PropensityModel",
    "ProtocolError",
    "QLearning",
    "Release",
    "Replay",
    "Reply",
    "Respond",
    "Session",
    "Stage",
    "Study",
    "StudyError",
    "StudyInterrupted",
    "Trial",
    "Unavailable",
    "Unblind",
    "UniformRandom",
    "Upgrade",
    "Values",
    "Void",
    "Withdraw",
    "__version__",
    "compare",
    "evaluate",
    "load_study",
    "monitor",
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
