"""Replay: what an online algorithm would have earned on a cohort (Algorithm 2)."""

from dtrbandit.evaluation.replay.algorithm_2 import SmallCohort, replay
from dtrbandit.evaluation.replay.result import Replay

__all__ = ["Replay", "SmallCohort", "replay"]
