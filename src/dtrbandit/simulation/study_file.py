"""The former place of ``study_toml``, for one more release."""

from dtrbandit.simulation.inputs import Inputs as StudyFile
from dtrbandit.simulation.study_toml import read_study

__all__ = ["StudyFile", "read_study"]
