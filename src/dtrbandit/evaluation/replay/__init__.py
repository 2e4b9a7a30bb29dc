"""Replay: what an online algorithm would have earned on a cohort (Algorithm 2)."""

from dtrbandit.evaluation.replay.replay import SmallCohort, replay
from dtrbandit.evaluation.replay.result import Replay

__all__ = ["Replay", "SmallCohort", "replay"]
