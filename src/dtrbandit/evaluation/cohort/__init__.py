"""Cohorts: finished units, read from a frame or a log and held against a design."""

from dtrbandit.evaluation.cohort.cohort import Cohort

__all__ = ["Cohort"]
