"""One entry of Table 1, replayed on patients by their version's weights and parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from dtrbandit.datasets import OFFLINE as OFFLINE_RULE
from dtrbandit.evaluation import Replay, SmallCohort, replay
from dtrbandit.policies import UnscaledOutcomes
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.reproduce.reproduction import Size
from dtrbandit.reproduce.table1.entries import OFFLINE
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.versions import Version


def players(version: Version) -> Mapping[str, BuiltinPolicy]:
    """Return what is replayed: the online algorithms, and the Offline rule."""
    return {**version.online, OFFLINE: OFFLINE_RULE}


def played(name: str, patients: Patients, size: Size) -> Replay:
    """Replay an entry, without warnings that the cohort is small or LSVI-UCB unscaled: the table says so."""
    quiet: Size = {**size, "progress": False}
    with warnings.catch_warnings():
        for known in (SmallCohort, UnscaledOutcomes):
            warnings.simplefilter("ignore", known)
        return replay(players(patients.version)[name], patients.cohort, **quiet)
