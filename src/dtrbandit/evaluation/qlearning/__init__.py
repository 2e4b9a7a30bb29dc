"""Q-learning from a cohort: the regressions, how sure they are, their tables and their picture (paper, section 3.1)."""

from dtrbandit.evaluation.induction.regression import LeastSquares, Regression, StageRegression, regress
from dtrbandit.evaluation.qlearning.qlearning import QLearning
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap

__all__ = ["Bootstrap", "LeastSquares", "QLearning", "Regression", "StageRegression", "regress"]
