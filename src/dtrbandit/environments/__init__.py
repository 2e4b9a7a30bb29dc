"""Environments: where simulated units come from (paper, sections 4 and 5), and when they come (appendix on delay).

A study file may name the classes in ``ENVIRONMENTS`` and ``DURATIONS``. Their parameters are the fields of the class.
"""

from collections.abc import Mapping
from typing import Any

from dtrbandit.environments.arrivals import ArrivalProcess, Duration, Exponential, Fixed, Gamma, LogNormal, Timeline
from dtrbandit.environments.linear import Linear, OneStage
from dtrbandit.environments.potential_outcomes import Environment, LinearEnvironment, PotentialOutcomes, checked
from dtrbandit.environments.stard import STARD
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.environments.wrappers import Contraindicated, Tabulated

ENVIRONMENTS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Synthetic, Linear, OneStage, STARD)}
DURATIONS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Fixed, Exponential, Gamma, LogNormal)}

__all__ = [
    "DURATIONS",
    "ENVIRONMENTS",
    "STARD",
    "ArrivalProcess",
    "Contraindicated",
    "Duration",
    "Environment",
    "Exponential",
    "Fixed",
    "Gamma",
    "Linear",
    "LinearEnvironment",
    "LogNormal",
    "OneStage",
    "PotentialOutcomes",
    "Synthetic",
    "Tabulated",
    "Timeline",
    "checked",
]
