"""Environments: where simulated units come from (paper, sections 4 and 5)."""

from dtrbandit.environments.linear import Linear
from dtrbandit.environments.one_stage import OneStage
from dtrbandit.environments.potential_outcomes import Environment, LinearEnvironment, PotentialOutcomes, checked
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.environments.tabulated import Tabulated

__all__ = [
    "Environment",
    "Linear",
    "LinearEnvironment",
    "OneStage",
    "PotentialOutcomes",
    "Synthetic",
    "Tabulated",
    "checked",
]
