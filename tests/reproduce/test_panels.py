"""Panels, titles and remarks of pictures."""

from __future__ import annotations

import pytest

from dtrbandit.reproduce.panels import SIZE, note, panels, title


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
