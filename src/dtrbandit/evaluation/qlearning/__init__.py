"""Q-learning from a cohort: the regressions, their tables and their picture (paper, section 3.1)."""

from dtrbandit.evaluation.qlearning.qlearning import QLearning

__all__ = ["QLearning"]
