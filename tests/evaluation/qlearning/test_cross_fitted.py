"""The cross-fitted value beside ``value_``: who finds it."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation import QLearning
from dtrbandit.evaluation.qlearning import cross_fitted
from dtrbandit.evaluation.qlearning.cross_fitted import CrossFitted, cross_fitted_value, finds_cross_fitted
from dtrbandit.evaluation.values.learned import beside_value
from evaluation.tiny_trials import ONE_STAGE, read


def test_values_finds_it_as_soon_as_anything_of_the_package_is_imported() -> None:
    (finder,) = cross_fitted._FINDERS

    assert finder is beside_value


def test_the_summary_asks_once_and_prints_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, 2]}, ONE_STAGE)
    monkeypatch.setattr(cross_fitted, "_FINDERS", [])

    @finds_cross_fitted
    def finder(cohort: object, dropouts: str) -> CrossFitted:
        asked.append((cohort, dropouts))
        return CrossFitted(2.5, 1.0, 4.0, "It is somebody's.")

    summary = QLearning(ONE_STAGE, dropouts="complete").fit(cohort).summary()

    assert [str(summary), str(summary)][1].splitlines()[3] == (
        "Cross-fitted value: 2.500, 95 % interval 1.000 to 4.000. It is somebody's."
    )
    assert asked == [(cohort, "complete")]
    assert cross_fitted_value(cohort, "imputed").value == 2.5


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (CrossFitted(2.5, np.nan, np.nan, "There is no interval."), "Cross-fitted value: 2.500. There is no interval."),
        (CrossFitted(np.nan, np.nan, np.nan, "There is no value."), "There is no value."),
    ],
)
def test_what_cannot_be_had_is_said(found: CrossFitted, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_fitted, "_FINDERS", [lambda *_: found])
    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, 2]}, ONE_STAGE)

    assert str(QLearning(ONE_STAGE).fit(cohort).summary()).splitlines()[3] == words
