"""Pictures of studies: what is drawn is what was measured, and it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.plots import PALETTE, Curve, plot_curves

mpl.use("Agg")

POLICIES = {"DTRB(5, 0.5)": dtr.DTRBandit(q=5, delta=0.5), "Greedy": dtr.Greedy(), "uniform": dtr.UniformRandom()}


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def study() -> dtr.Study:
    return dtr.simulate(Synthetic(), POLICIES, horizon=1500, paths=6, seed=2)


def curve(label: str, number: int, end: float) -> Curve:
    t = np.arange(1, 11)
    mean = np.linspace(0.0, end, 10)
    return Curve(label, number, t, mean, mean - 1, mean + 1)


def lines(ax: Axes, label: str) -> list[NDArray[np.float64]]:
    return [np.asarray(line.get_ydata()) for line in ax.lines if line.get_label() == label]


def test_means_and_bands_are_those_of_the_paths(study: dtr.Study) -> None:
    frame = study.regret(at=[1500])

    ax = study.plot()

    for name, band in zip(study.policies, ax.collections, strict=True):
        own = frame[frame["policy"] == name]["regret"].to_numpy()
        (drawn,) = lines(ax, name)
        corners = np.asarray(band.get_paths()[0].vertices)
        at_end = corners[corners[:, 0] == 1500][:, 1]
        assert drawn[-1] == pytest.approx(own.mean())
        assert (at_end.min(), at_end.max()) == pytest.approx(tuple(np.quantile(own, [0.05, 0.95])))
    assert ax.get_ylabel() == "regret (6 paths: mean; band: 5 to 95 % of paths)"


def test_where_every_path_is_drawn_and_there_is_no_interval_there_is_no_band(study: dtr.Study) -> None:
    ax = study.plot(paths=True)

    for name, band in zip(study.policies, ax.collections, strict=True):
        corners = np.asarray(band.get_paths()[0].vertices)
        at_end = corners[corners[:, 0] == 1500][:, 1]
        assert at_end.min() == at_end.max() == lines(ax, name)[0][-1]
    assert ax.get_ylabel() == "regret (6 paths: mean and each path)"


def test_with_enough_paths_the_band_is_the_interval_of_the_mean() -> None:
    study = dtr.simulate(Synthetic(), {"uniform": dtr.UniformRandom()}, horizon=20, paths=200, seed=3)

    ax = study.plot()

    (row,) = study.summary().policies
    corners = np.asarray(ax.collections[0].get_paths()[0].vertices)
    at_end = corners[corners[:, 0] == 20][:, 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((row.low, row.high))
    assert ax.get_ylabel() == "regret (200 paths: mean, about 90 % band)"


def test_single_paths_are_drawn_when_asked(study: dtr.Study) -> None:
    ax = study.plot(paths=True)

    ends = sorted(float(np.asarray(line.get_ydata())[-1]) for line in ax.lines)
    assert len(ends) == 3 * (6 + 1)
    worst = max(row.worst for row in study.summary().policies)
    assert ends[-1] == pytest.approx(worst)


def test_rounds_are_counted_by_their_logarithm_when_asked(study: dtr.Study) -> None:
    ax = study.plot(log=True)

    assert ax.get_xscale() == "log"
    assert np.array_equal(np.asarray(ax.lines[0].get_xdata()), np.unique(study.regret()["t"]))


def test_it_draws_on_the_axes_it_is_given(study: dtr.Study) -> None:
    _, (left, right) = plt.subplots(1, 2)

    assert study.plot(right) is right
    assert not left.lines


def test_a_policy_keeps_its_colour_when_others_are_left_out(study: dtr.Study) -> None:
    ax = study.plot(policies=["Greedy"])

    assert [line.get_color() for line in ax.lines] == [PALETTE[1]]


def test_an_unknown_policy_is_refused(study: dtr.Study) -> None:
    with pytest.raises(dtr.DesignError, match="no policy 'DTRB' in this study"):
        study.plot(policies=["DTRB"])


def test_one_path_has_a_curve_without_a_band() -> None:
    ax = dtr.simulate(Synthetic(), POLICIES, horizon=50, paths=1).plot()

    ax.figure.canvas.draw()
    assert ax.get_ylabel() == "regret (1 path)"


def test_thousands_are_separated(study: dtr.Study) -> None:
    ax = study.plot()

    ax.figure.canvas.draw()
    assert "1,000" in [label.get_text() for label in ax.get_xticklabels()]


@pytest.mark.parametrize("ends", [(5.0, 5.0, 5.1, 9.0), (0.0, 0.01, 0.02, 0.03), (1.0, 40.0, 41.0, 40.5)])
def test_labels_touch_neither_each_other_nor_the_curves(ends: tuple[float, ...]) -> None:
    names = ("DTRB", "a policy with a name that is rather long", "Greedy", "0.1-Greedy")

    ax = plot_curves([curve(name, k, end) for k, (name, end) in enumerate(zip(names, ends, strict=True))], y="regret")

    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 4
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any("\n" in text.get_text() for text in ax.texts)
    assert all(box.x0 > ax.get_window_extent().x1 for box in boxes)


def test_more_curves_than_colours_differ_by_their_dashes() -> None:
    ax = plot_curves([curve(f"policy {k}", k, k) for k in range(9)], y="regret")

    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 9


def test_a_name_is_drawn_as_it_is_even_if_it_looks_like_a_broken_formula() -> None:
    ax = plot_curves([curve(r"$\frac{$", 0, 1.0)], y="regret")

    ax.figure.canvas.draw()

    assert [text.get_text() for text in ax.texts] == [r"$\frac{$"]
