"""Values of regimes: what units would have earned, had all been treated by one rule."""

from dtrbandit.evaluation.values.weighting import WeightedMean, logging_value, regime_value

__all__ = ["WeightedMean", "logging_value", "regime_value"]
