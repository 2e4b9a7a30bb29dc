"""The registry of value estimators, and the recipe of CONTRIBUTING.md followed once: a new estimator is a record."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.values.estimate import Estimate, Problem, ValueEstimator, of_influence
from dtrbandit.evaluation.values.registry import ESTIMATORS
from evaluation.values.tiny import ALWAYS_A, ALWAYS_B, TWELVE


def horvitz_thompson(problem: Problem) -> Estimate:
    """Return ΣWY / n, whose weights are not scaled to their sum."""
    own = np.where(problem.weights > 0, problem.weights * problem.cohort.outcome, 0.0) / len(problem.cohort)
    influence = own - own.mean()
    found, support = (float(own.sum()), influence), problem.support
    return of_influence(problem.name, HORVITZ_THOMPSON.name, found, support, freedom=support.freedom)


HORVITZ_THOMPSON = ValueEstimator(
    name="unscaled",
    sentence="the outcomes of those who followed the regime, by 1/p, over all units.",
    mark="P",
    colour="#E69F00",
    fixed=horvitz_thompson,
)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dtr.Values:
    monkeypatch.setitem(ESTIMATORS, HORVITZ_THOMPSON.name, HORVITZ_THOMPSON)
    return dtr.evaluate(TWELVE, {"a": ALWAYS_A, "b": ALWAYS_B})


def test_a_new_estimator_is_tabulated_after_the_others(found: dtr.Values) -> None:
    frame = found.to_frame()

    assert frame["estimator"].tolist() == ["weighted", "augmented", "q-learning", "unscaled"] * 2
    values = frame.loc[frame["estimator"] == "unscaled", "value"]
    assert values.tolist() == pytest.approx([2 * 21 / 12, 2 * 6 / 12])  # outcomes of either arm, at 1/p = 2
    assert frame.loc[frame["estimator"] == "unscaled", "joint_low"].notna().all()


def test_a_new_estimator_is_explained_where_it_is_printed(found: dtr.Values) -> None:
    text = str(found)

    assert "unscaled: the outcomes of those who followed the regime, by 1/p, over all units." in text
    assert "The intervals of weighted, augmented, q-learning and unscaled take a regime as fixed" in " ".join(
        text.split()
    )


def test_a_new_estimator_has_its_mark_in_the_picture(found: dtr.Values) -> None:
    ax = found.plot()

    marks = [line for line in ax.get_lines() if line.get_marker() == "P"]
    assert [mark.get_color() for mark in marks] == ["#E69F00"] * 2
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_texts()[-1].get_text() == "unscaled"


def test_regimes_are_compared_by_a_new_estimator(found: dtr.Values) -> None:
    (row,) = found.differences("unscaled").to_dict("records")

    assert row["difference"] == pytest.approx((42 - 12) / 12)
    assert row["std_error"] > 0
    best = found.best("unscaled").set_index("regime")
    assert best["may_be_best"]["a"]
    assert best["loses_at_most"]["a"] < best["loses_at_most"]["b"]


def test_an_estimator_that_is_not_comparable_is_refused_for_comparisons() -> None:
    found = dtr.evaluate(TWELVE, {"a": ALWAYS_A, "b": ALWAYS_B})

    with pytest.raises(dtr.DesignError, match="by one of weighted, augmented, q-learning, adaptive; found 'cross-f"):
        found.differences("cross-fitted")


def test_each_estimator_has_a_name_mark_and_colour_of_its_own() -> None:
    every = list(ESTIMATORS.values())

    for seen in ({each.name for each in every}, {each.mark for each in every}, {each.colour for each in every}):
        assert len(seen) == len(every)
    assert all(each.sentence.endswith(".") and (each.fixed or each.learned or each.adaptive) for each in every)
