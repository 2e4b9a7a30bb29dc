"""What pictures share: labels that fit, and names as they are."""

from __future__ import annotations

from dtrbandit.evaluation.panels import LABEL_WIDTH, names_as_they_are, panel


def test_a_long_label_is_broken_into_lines_that_fit() -> None:
    label = " ".join(["probability"] * 12)

    ax = panel(None, label, "share of units")

    lines = ax.get_xlabel().split("\n")
    assert " ".join(lines) == label
    assert len(lines) > 1
    assert max(map(len, lines)) <= LABEL_WIDTH
    assert ax.get_ylabel() == "share of units"


def test_an_axes_that_is_given_is_drawn_on() -> None:
    ax = panel(None, "x", "y")

    assert panel(ax, "other", "y") is ax
    assert ax.get_xlabel() == "other"


def test_dollar_signs_in_names_are_no_formulas() -> None:
    ax = panel(None, "cost in $ and $", "y")
    ax.plot([0, 1], [0, 1], label="$a$")
    ax.legend()

    names_as_they_are(ax)

    legend = ax.get_legend()
    assert legend is not None
    assert not any(text.get_parse_math() for text in (ax.xaxis.label, *legend.get_texts()))
