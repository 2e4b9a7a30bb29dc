"""Finished trials: what a statistician learns from them, and how a learning algorithm would have done (section 5.3)."""

from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.qlearning import QLearning

__all__ = ["Cohort", "QLearning"]
