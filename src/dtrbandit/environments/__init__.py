"""Environments: where simulated units come from (paper, sections 4 and 5)."""

from dtrbandit.environments.potential_outcomes import Environment, LinearEnvironment, PotentialOutcomes, checked
from dtrbandit.environments.synthetic import Synthetic

__all__ = ["Environment", "LinearEnvironment", "PotentialOutcomes", "Synthetic", "checked"]
