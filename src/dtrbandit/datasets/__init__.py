"""Data sets: finished trials as tables, one row per patient."""

from dtrbandit.datasets.stard import (
    OFFLINE,
    offline_regime,
    read_stard_wide,
    stard_cohort_table,
    stard_counts,
    stard_table,
)
from dtrbandit.datasets.stard_raw import read_stard_raw

__all__ = [
    "OFFLINE",
    "offline_regime",
    "read_stard_raw",
    "read_stard_wide",
    "stard_cohort_table",
    "stard_counts",
    "stard_table",
]
