"""Finished trials: what a statistician learns from them, and how a learning algorithm would have done (section 5.3)."""

from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.propensity import PropensityModel
from dtrbandit.evaluation.qlearning import QLearning
from dtrbandit.evaluation.replay import SmallCohort, replay
from dtrbandit.evaluation.replay_result import Replay
from dtrbandit.evaluation.weighting import ExtremeWeights, logging_value, regime_value

__all__ = [
    "Cohort",
    "ExtremeWeights",
    "PropensityModel",
    "QLearning",
    "Replay",
    "SmallCohort",
    "logging_value",
    "regime_value",
    "replay",
]
