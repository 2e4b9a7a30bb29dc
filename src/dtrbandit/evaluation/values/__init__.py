"""Values of regimes: what units would have earned, had all been treated by one rule."""

from dtrbandit.evaluation.values.augmented import OutcomeModel
from dtrbandit.evaluation.values.evaluate import evaluate
from dtrbandit.evaluation.values.result import Values
from dtrbandit.evaluation.values.weighting import WeightedMean, logging_value, regime_value

__all__ = ["OutcomeModel", "Values", "WeightedMean", "evaluate", "logging_value", "regime_value"]
