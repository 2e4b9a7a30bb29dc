"""Replay: what an online algorithm would have earned on a cohort (Algorithm 2)."""

from dtrbandit.evaluation.replay.comparison import compare
from dtrbandit.evaluation.replay.replay import EqualWeights, SmallCohort, replay
from dtrbandit.evaluation.replay.result import Replay

__all__ = ["EqualWeights", "Replay", "SmallCohort", "compare", "replay"]
