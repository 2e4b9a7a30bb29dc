"""The value estimators, in the order in which they are printed; a new one is its own file and a word here."""

from __future__ import annotations

from dtrbandit.evaluation.values.adaptive import ADAPTIVE
from dtrbandit.evaluation.values.augmented import AUGMENTED
from dtrbandit.evaluation.values.estimate import ValueEstimator
from dtrbandit.evaluation.values.learned import CROSS_FITTED, IN_SEQUENCE
from dtrbandit.evaluation.values.regression import REGRESSION
from dtrbandit.evaluation.values.weighting import WEIGHTED

ESTIMATORS: dict[str, ValueEstimator] = {
    each.name: each for each in (WEIGHTED, AUGMENTED, REGRESSION, ADAPTIVE, CROSS_FITTED, IN_SEQUENCE)
}
