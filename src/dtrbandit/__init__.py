"""DTR bandits: learn which treatment to give first and which next, while treating.

>>> import dtrbandit as dtr
>>> design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
>>> session = dtr.Session(design, dtr.DTRBandit(q=1, delta=10.0), seed=0)
>>> print(session.enroll("u1", {"x": 0.2}))
Unit u1 (round 1), stage first: give a.
Reason: forced; this round is scheduled to try this arm, whatever the estimates say.
There are no estimates.
"""

from dtrbandit._version import NUMERICS, __version__
from dtrbandit.design import Design, Stage
from dtrbandit.engine import Session, verify
from dtrbandit.errors import DesignError, DTRError, LogError, ObservationError, ProtocolError
from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, FixedRegime, Greedy, UniformRandom, suggested_beta
from dtrbandit.record import Decision, read_log, write_log

__all__ = [
    "LSVIUCB",
    "NUMERICS",
    "DTRBandit",
    "DTRError",
    "Decision",
    "Design",
    "DesignError",
    "EpsilonGreedy",
    "FixedRegime",
    "Greedy",
    "LogError",
    "ObservationError",
    "ProtocolError",
    "Session",
    "Stage",
    "UniformRandom",
    "__version__",
    "read_log",
    "suggested_beta",
    "verify",
    "write_log",
]
