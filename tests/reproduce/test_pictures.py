"""Panels, titles and remarks of pictures."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.reproduce.pictures import SIZE, draw_regret, draw_totals, note, panels, title
from dtrbandit.reproduce.reproduction import DTRB
from reproduce.curves import logarithmic, power, study_of


@pytest.mark.parametrize("count", [1, 2, 3])
def test_panels_stand_beside_each_other(count: int) -> None:
    picture, places = panels(count, size=(5.0, 4.0))

    assert len(places) == len(picture.axes) == count
    assert picture.get_size_inches().tolist() == [5.0 * count, 4.0]
    assert len({ax.get_subplotspec().rowspan.start for ax in places}) == 1  # type: ignore[union-attr]


def test_titles_are_at_the_left_and_remarks_within_the_panel() -> None:
    picture, (ax,) = panels(1)

    title(ax, "A sentence")
    note(ax, "a remark", "red")

    assert picture.get_size_inches().tolist() == list(SIZE)
    assert (ax.get_title(loc="left"), ax.get_title()) == ("A sentence", "")
    (text,) = ax.texts
    assert (text.get_text(), text.get_color()) == ("a remark", "red")
    assert all(0 < place < 1 for place in text.get_position())
    assert text.get_transform() == ax.transAxes


def test_each_setting_is_a_line_of_its_mean_with_a_band() -> None:
    _, (ax,) = panels(1)
    rounds = np.array([1, 10, 100])
    totals = {"one": np.array([[1.0, 2, 3], [3, 4, 5]]), "other": np.array([[5.0, 5, 5], [5, 5, 5]])}

    draw_totals(ax, totals, rounds, log=True, seed=0, y="pulls")

    assert [line.get_label() for line in ax.lines] == ["one", "other"]
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [2.0, 3.0, 4.0]
    assert len(ax.collections) == 2
    low, high = ax.collections[0].get_paths()[0].get_extents().intervaly
    assert (low, high) == pytest.approx((1.1, 4.9))  # 5 and 95 % of two paths
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "pulls (2 paths: mean; band: 5 to 95 % of paths)"


def test_a_setting_keeps_its_colour_when_others_are_left_out() -> None:
    studies = {name: study_of({DTRB: power(1.0, 1.0)}, 100) for name in ("one", "other")}
    _, (both, alone) = panels(2)

    draw_regret(both, studies, log=True)
    draw_regret(alone, studies, log=True, only=("other",))

    assert [line.get_color() for line in alone.lines] == [both.lines[1].get_color()]


@pytest.mark.parametrize("log", [True, False])
def test_regret_is_drawn_up_to_the_shortest_horizon(log: bool) -> None:
    studies = {"long": study_of({DTRB: power(1.0, 1.0)}, 500), "short": study_of({DTRB: logarithmic(5.0)}, 300)}
    _, (ax,) = panels(1)

    draw_regret(ax, studies, log=log)

    for line, study in zip(ax.lines, studies.values(), strict=True):
        t, regret = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert t[-1] == 300
        assert regret[-1] == pytest.approx(study.total_regret(DTRB, [300]).mean())
