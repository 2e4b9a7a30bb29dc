"""Looks during a trial: limits for a difference that hold at every look, however often one looks."""

from dtrbandit.evaluation.looks.contrast import Contrast
from dtrbandit.evaluation.looks.monitoring import LookOptions, monitor
from dtrbandit.evaluation.looks.sequence import Looks

__all__ = ["Contrast", "LookOptions", "Looks", "monitor"]
