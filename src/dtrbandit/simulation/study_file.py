"""The former place of ``study_toml``, for one more release."""

from dtrbandit.simulation.study_toml import StudyFile, read_study

__all__ = ["StudyFile", "read_study"]
