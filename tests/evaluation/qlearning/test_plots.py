"""Pictures of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

import dtrbandit as dtr
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation import QLearning
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.qlearning.plots import STRONG, WEAK, plot_leads
from dtrbandit.plots import PALETTE
from evaluation.qlearning.crossing import CROSSING, crossing
from evaluation.simulated_cohorts import cohort_of
from evaluation.tiny_trials import ONE_STAGE, read


def test_each_unit_is_counted_at_its_lead_in_the_colour_of_its_best_arm() -> None:
    q = np.array([[3.0, 1.0], [2.0, 0.0], [0.0, 4.0], [1.0, -np.inf]])  # the last has no choice

    ax = plot_leads("second", ("a", "b"), q)

    a, b = ([bar.get_height() for bar in bars] for bars in ax.containers)
    edges = np.linspace(0, 4, len(a) + 1)
    assert [edges[k] for k in np.flatnonzero(a)] == [pytest.approx(2.0)]
    assert (sum(a), sum(b)) == (2, 1)
    assert b[-1] == 1  # the largest lead, 4
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a (2)", "b (1)"]
    label, caution = ax.get_xlabel().split("\n")
    assert label == "by how much the recommended arm leads at stage second"
    assert caution == "(estimates alone: recommendations have their intervals)"


def test_where_nobody_has_a_choice_nothing_is_drawn() -> None:
    ax = plot_leads("second", ("a", "b"), np.array([[1.0, -np.inf]]))

    assert not ax.patches
    assert ax.get_legend() is None


def test_equal_arms_lead_by_nothing() -> None:
    ax = plot_leads("only", ("a", "b"), np.ones((3, 2)))

    assert sum(bar.get_height() for bar in ax.patches) == 3  # type: ignore[attr-defined]  # of bars
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a (3)"]


def test_a_fit_draws_the_leads_of_the_units_of_a_cohort() -> None:
    import matplotlib.pyplot as plt

    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [0.0, 1, 2, 1, 1, 1]}, ONE_STAGE)
    ax = plt.subplots()[1]

    assert QLearning(ONE_STAGE).fit(cohort).plot("only", cohort, ax) is ax

    legend = ax.get_legend()  # Q of a is x, that of b is 1: b leads at 0, by 1; a leads at 2, by 1
    assert legend is not None
    assert sum(int(text.get_text().split("(")[1][:-1]) for text in legend.get_texts()) == 6


COHORT = crossing(300, seed=1)
FIT = dtr.QLearning(CROSSING).fit(COHORT)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def words(ax: Axes) -> str:
    return ax.get_xlabel().replace("\n", " ")


def test_each_point_of_the_plane_has_the_colour_of_its_arm_and_is_strong_where_that_is_separated() -> None:
    ax = FIT.plot_rule("second", COHORT)

    assert (ax.get_xlabel().split("\n")[0], ax.get_ylabel()) == ("z", "x")
    colours = np.asarray(ax.collections[0].get_array())
    assert colours.shape == (81, 81, 4)
    z, x = (COHORT.contexts[m][name][COHORT.entered[:, 1]] for m, name in ((1, "z"), (0, "x")))
    for row, column in [(0, 0), (0, 80), (80, 0), (40, 40), (25, 61), (60, 30)]:
        history: dict[str, float | str] = {
            "z": float(np.linspace(z.min(), z.max(), 81)[column]),
            "x": float(np.linspace(x.min(), x.max(), 81)[row]),
            "first": "a",  # the more common one
        }
        best = FIT.recommend("second", history)
        separated = (FIT.effect("second", history, reference=best)["high"] < 0).all()
        expected = to_rgba(PALETTE["abc".index(best)], STRONG if separated else WEAK)
        assert colours[row, column] == pytest.approx(expected)


def test_units_are_drawn_where_they_are_with_their_own_arm_and_counted() -> None:
    ax = FIT.plot_rule("second", COHORT)

    z = COHORT.contexts[1]["z"][COHORT.entered[:, 1]]
    drawn = np.concatenate([np.asarray(line.get_xdata()) for line in ax.lines])
    assert sorted(drawn) == sorted(z)
    counts = {text.split(" (")[0]: int(text.split("(")[1][:-1]) for text in legend_of(ax)}
    arms = FIT.recommendations(COHORT).query("stage == 'second'")["arm"].value_counts()
    for arm in "abc":
        assert counts[f"{arm}, separated"] + counts.get(f"{arm}, not separated", 0) == arms[arm]
    assert {str(line.get_markerfacecolor()) for line in ax.lines} == {*PALETTE[:3], "white"}


def test_a_column_of_two_values_is_drawn_upwards_with_its_units_beside_each_other() -> None:
    ax = FIT.plot_rule("first", COHORT)

    assert (ax.get_xlabel().split("\n")[0], ax.get_ylabel()) == ("x", "w")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "1"]
    heights = np.concatenate([np.asarray(line.get_ydata()) for line in ax.lines])
    assert np.abs(heights - heights.round()).max() <= 0.3
    assert len(set(heights)) == len(COHORT)


def test_over_one_entry_the_curve_is_the_effect_with_its_interval() -> None:
    ax = FIT.plot_rule("second", COHORT, over=["z"])

    assert ax.get_ylabel() == "Q less that of a"
    curves = [line for line in ax.lines if len(np.asarray(line.get_xdata())) == 81]
    assert [curve.get_color() for curve in curves] == list(PALETTE[1:3])
    x = float(np.median(COHORT.contexts[0]["x"][COHORT.entered[:, 1]]))
    z = float(np.asarray(curves[0].get_xdata())[17])
    effects = FIT.effect("second", {"z": z, "x": x, "first": "a"})
    assert [np.asarray(curve.get_ydata())[17] for curve in curves] == pytest.approx(effects["estimate"].tolist())
    bands = [np.asarray(each.get_paths()[0].vertices) for each in ax.collections[:2]]
    for band, low, high in zip(bands, effects["low"], effects["high"], strict=True):
        own = band[band[:, 0] == z][:, 1]
        assert (own.min(), own.max()) == pytest.approx((low, high))
    assert f"Curves at x {x:.4g}." in words(ax)


def test_over_an_earlier_arm_an_infeasible_arm_is_not_drawn() -> None:
    ax = FIT.plot_rule("second", COHORT, over="first")

    squares = {line.get_color(): np.asarray(line.get_xdata()).round() for line in ax.lines if line.get_marker() == "s"}
    assert squares[PALETTE[1]].tolist() == [0, 1]
    assert squares[PALETTE[2]].tolist() == [0]  # c cannot follow b
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]


def test_where_no_feature_matters_all_units_are_one_place() -> None:
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1")])
    rng = np.random.default_rng(0)
    cohort = cohort_of(design, [{}], rng.integers(2, size=(60, 1)), rng.normal(size=60))

    ax = dtr.QLearning(design).fit(cohort).plot_rule("only", cohort)

    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["all units"]
    assert sum(line.get_marker() == "s" for line in ax.lines) == 1
    assert words(ax).startswith("stage only Separated:")


@pytest.mark.parametrize("over", [None, ["z"], ["first"]])
def test_no_uncertainty_is_drawn_for_data_that_a_policy_collected(over: list[str] | None) -> None:
    cohort = replace(COHORT, origin=Origin("adaptive", "Greedy()"))

    ax = dtr.QLearning(CROSSING).fit(cohort).plot_rule("second", cohort, over=over)

    assert "There are no intervals: a policy chose the arms" in words(ax)
    assert "separated" not in " ".join(legend_of(ax))
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert sum(len(np.asarray(line.get_xdata())) for line in crosses) == COHORT.entered[:, 1].sum()
    for each in ax.collections[: -1 if over else None]:  # bands and bars, of which nothing is left
        corners = [np.asarray(path.vertices) for path in each.get_paths()]
        assert over is None or all(np.isnan(own).any() or not len(own) for own in corners)
    assert set(np.asarray(ax.collections[-1].get_array())[..., 3].ravel()) == {WEAK}


def test_a_picture_says_what_its_intervals_assume_where_nobody_has_stated_who_chose_the_arms() -> None:
    unstated, randomised = (
        words(dtr.QLearning(CROSSING).fit(cohort).plot_rule("second", cohort))
        for cohort in (COHORT, replace(COHORT, origin=Origin("randomised")))
    )

    assert "Origin not stated: intervals assume that no policy learnt from earlier units." in unstated
    assert "not stated" not in randomised


def test_an_arm_with_too_few_units_has_no_interval_and_the_picture_says_so() -> None:
    rng = np.random.default_rng(0)
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
    arms = np.r_[np.zeros(40, dtype=int), [1, 1]][:, None]  # two units for two coefficients
    cohort = cohort_of(design, [{"x": rng.normal(size=42)}], arms, rng.normal(size=42))

    ax = dtr.QLearning(design).fit(cohort).plot_rule("only", cohort)

    assert "No interval: some arm has too few units" in words(ax)
    assert all("no interval" in text for text in legend_of(ax))


def test_names_with_a_dollar_sign_are_shown_as_they_are() -> None:
    rng = np.random.default_rng(0)
    design = dtr.Design([dtr.Stage("$in$", ("a$", "b$"), "1 + x")])
    arms = rng.integers(2, size=(60, 1))
    cohort = cohort_of(design, [{"x": rng.normal(size=60)}], arms, rng.normal(size=60))

    ax = dtr.QLearning(design).fit(cohort).plot_rule("$in$", cohort)

    legend = ax.get_legend()
    assert legend is not None
    texts = [legend.get_title(), *legend.get_texts(), ax.yaxis.label, ax.xaxis.label]
    assert not any(text.get_parse_math() for text in texts)
    ax.figure.canvas.draw()


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(DesignError, match="over must be one or two of 'x', 'w'; found 'age'"):
        FIT.plot_rule("first", COHORT, over="age")
    leavers = COHORT.arms.copy()
    leavers[:, 1] = -1
    context = {**COHORT.contexts[1], "r": np.full(300, -2.0)}
    left = replace(COHORT, arms=leavers, contexts=(COHORT.contexts[0], context))
    with pytest.raises(NotEstimable, match="stage 'second': no unit of the cohort had a choice of arms"):
        FIT.plot_rule("second", left)


def test_the_name_of_the_first_release_draws_the_same() -> None:
    now, before = FIT.plot_rule("second", COHORT, over="first"), FIT.plot_who("second", COHORT, over="first")

    assert words(before) == words(now)
    assert legend_of(before) == legend_of(now)
