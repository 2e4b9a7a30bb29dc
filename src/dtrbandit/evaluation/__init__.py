"""Finished trials: what a statistician learns from them, and how a learning algorithm would have done (section 5.3)."""

from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.looks import Looks, monitor
from dtrbandit.evaluation.propensities import PropensityModel
from dtrbandit.evaluation.qlearning import Bootstrap, QLearning
from dtrbandit.evaluation.replay import EqualWeights, Replay, SmallCohort, compare, replay
from dtrbandit.evaluation.values import OutcomeModel, Values, evaluate, logging_value, regime_value
from dtrbandit.evaluation.weights import ExtremeWeights

__all__ = [
    "Bootstrap",
    "Cohort",
    "EqualWeights",
    "ExtremeWeights",
    "Looks",
    "OutcomeModel",
    "PropensityModel",
    "QLearning",
    "Replay",
    "SmallCohort",
    "Values",
    "compare",
    "evaluate",
    "logging_value",
    "monitor",
    "regime_value",
    "replay",
]
