"""Propensities: how probable it was that units had the arms they had, and stayed (paper, section 5.3)."""

from dtrbandit.evaluation.propensities.fitted import FittedPropensities
from dtrbandit.evaluation.propensities.model import PropensityModel

__all__ = ["FittedPropensities", "PropensityModel"]
