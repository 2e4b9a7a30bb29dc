"""What is printed and tabulated of the values of regimes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.values.estimate import Support, of_influence, without_interval
from dtrbandit.evaluation.values.result import plot_forest
from evaluation.values.tiny import ALWAYS_A, ALWAYS_B, coins

AUGMENTED, REGRESSION, WEIGHTED = "augmented", "q-learning", "weighted"
SUPPORT = Support(50, 40.0, 0.12)
FORTY = coins(list(range(40)), [0, 1] * 20)


def two_regimes() -> dtr.Values:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 100)) / 100
    estimates = (
        of_influence("one", WEIGHTED, (1.0, one), SUPPORT, freedom=39),
        of_influence("one", AUGMENTED, (1.0, one), SUPPORT, freedom=39),
        of_influence("other", WEIGHTED, (1.5, one + other), SUPPORT, freedom=39),
        of_influence("other", AUGMENTED, (1.5, one + other), SUPPORT, freedom=39),
        without_interval("learned", "q-learning", 1.7, SUPPORT, "It flatters.", fixed=False),
    )
    return dtr.Values(estimates, 100, 7, 0)


def test_the_frame_has_a_row_per_regime_and_estimator() -> None:
    frame = two_regimes().to_frame()

    columns = "regime estimator value std_error low high units effective_sample_size largest_weight"
    assert list(frame) == [*columns.split(), "joint_low", "joint_high", "note"]
    assert frame["regime"].tolist() == ["one", "one", "other", "other", "learned"]
    assert (frame["joint_high"] - frame["joint_low"])[:4].gt((frame["high"] - frame["low"])[:4]).all()
    assert frame.loc[4, ["std_error", "low", "joint_low"]].isna().all()
    assert frame.loc[4, "note"] == "It flatters."


def test_differences_are_paired() -> None:
    found = two_regimes()
    other = np.random.default_rng(0).normal(size=(2, 100))[1] / 100

    (row,) = found.differences().to_dict("records")

    assert (row["regime"], row["against"], row["difference"]) == ("one", "other", -0.5)
    assert row["std_error"] == pytest.approx(np.sqrt((other**2).sum()))  # what they share does not count
    assert row["high"] == pytest.approx(-0.5 + 2.0227 * row["std_error"], abs=1e-4)  # Student's, 39 degrees of freedom
    assert row["joint_high"] == pytest.approx(row["high"], abs=0.02)  # of a single pair, by draws


def test_regimes_without_common_units_add_their_variances() -> None:
    found = dtr.evaluate(FORTY, {"a": ALWAYS_A, "b": ALWAYS_B})
    errors = found.to_frame().set_index(["regime", "estimator"])["std_error"]

    (row,) = found.differences(WEIGHTED).to_dict("records")

    assert row["difference"] == pytest.approx(-1.0)
    assert row["std_error"] ** 2 == pytest.approx(errors["a", WEIGHTED] ** 2 + errors["b", WEIGHTED] ** 2)


def test_the_better_regime_may_be_the_best() -> None:
    found = two_regimes().best()

    assert found["may_be_best"].tolist() == [False, True]
    assert found["loses_at_most"].tolist()[1] == 0.0


def test_only_fixed_regimes_are_compared() -> None:
    with pytest.raises(
        dtr.DesignError, match="by one of weighted, augmented, q-learning, adaptive; found 'cross-fitted'"
    ):
        two_regimes().differences("cross-fitted")
    assert len(two_regimes().differences("q-learning")) == 0
    assert len(two_regimes().best("q-learning")) == 0


def test_printing_says_what_to_keep_in_mind() -> None:
    words = " ".join(str(two_regimes()).split())

    assert "Values of regimes on 100 units, of whom 7 dropped out." in words
    assert "right if the propensities or the outcome models are" in words
    assert "learned, q-learning: It flatters." in words
    assert "one: one unit carries 12 % of the weight. The values hang on that unit" in words
    assert "may be the best of the fixed regimes (95 %): other." in words
    assert "standard errors: joint_low" in words
    assert "give it as the QLearning that learned it" in words
    assert max(len(line) for line in str(two_regimes()).splitlines()) <= 110
    assert repr(two_regimes()) == "<Values of 3 regimes on 100 units>"


def test_units_and_estimand_stand_before_the_numbers_and_assumptions_after_them() -> None:
    printed = str(dtr.evaluate(FORTY, {"a": ALWAYS_A, "b": ALWAYS_B}))

    headings = ("Units by stage", "  only  a 20, b 20", "Estimand:", "std. error", "Assumptions:", "- weighted:")
    places = [printed.index(each) for each in headings]
    assert places == sorted(places)
    assert "No unmeasured confounding" in printed


def test_where_nobody_has_stated_who_chose_the_arms_print_notes_and_picture_say_what_is_assumed() -> None:
    unstated, randomised = (
        dtr.evaluate(replace(FORTY, origin=origin), {"a": ALWAYS_A, "b": ALWAYS_B})
        for origin in (None, Origin("randomised"))
    )

    assumed = "Origin not stated: intervals assume that no policy learnt from earlier units."
    assert assumed in " ".join(str(unstated).split())
    assert unstated.to_frame()["note"].str.endswith(assumed).equals(unstated.to_frame()["low"].notna())
    assert unstated.plot().get_xlabel().endswith(assumed)
    assert "- Arms were given at random." in str(randomised)
    assert not any("not stated" in each for each in (str(randomised), randomised.plot().get_xlabel()))
    assert not randomised.to_frame()["note"].str.contains("not stated").any()


def test_a_single_regime_has_no_joint_interval() -> None:
    found = dtr.evaluate(FORTY, {"a": ALWAYS_A})

    assert found.to_frame()["joint_low"].isna().all()
    assert "may be the best" not in str(found)


# -- The forest plot


ESTIMATES = (
    of_influence("always $a$", AUGMENTED, (1.0, np.array([0.1, 0.0])), SUPPORT, freedom=39),
    of_influence("always b", AUGMENTED, (2.0, np.array([0.1, 0.2])), SUPPORT, freedom=39),
    without_interval("learned", REGRESSION, 3.0, SUPPORT, "it flatters", fixed=False),
)
JOINT = [(0.7, 1.3), (1.4, 2.6), (np.nan, np.nan)]


def test_every_regime_is_named_and_drawn_where_its_value_is() -> None:
    ax = plot_forest(ESTIMATES, JOINT)

    marks = [line for line in ax.get_lines() if line.get_marker() not in ("None", None)]
    assert [float(np.ravel(mark.get_xdata())[0]) for mark in marks] == [1.0, 2.0, 3.0]
    heights = [float(np.ravel(mark.get_ydata())[0]) for mark in marks]
    assert heights == sorted(heights, reverse=True)  # the first on top
    assert [label.get_text() for label in ax.get_yticklabels()] == ["always $a$", "always b", "learned"]
    assert not ax.get_yticklabels()[0].get_parse_math()


def test_the_picture_says_what_its_lines_are() -> None:
    ax = plot_forest(ESTIMATES, JOINT)

    said = ax.get_xlabel()
    assert "thick: 95 % interval" in said
    assert "thin: for all fixed regimes together" in said
    assert "hollow: no valid interval" in said
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["augmented", "q-learning"]


def test_what_is_not_there_is_not_explained() -> None:
    ax = plot_forest(ESTIMATES[:1], [(np.nan, np.nan)])

    assert ax.get_xlabel() == "value (thick: 95 % interval)"


def test_it_draws_where_it_is_told() -> None:
    from matplotlib.figure import Figure

    own = Figure().subplots()

    assert plot_forest(ESTIMATES, JOINT, own) is own
