"""A Q-learning fit in tables, with its notes."""

from __future__ import annotations

from collections.abc import Sequence

from dtrbandit.evaluation import QLearning
from evaluation import cohorts
from evaluation.tiny_trials import ONE_STAGE, read


def test_the_summary_has_a_table_for_each_arm_and_says_what_to_keep_in_mind() -> None:
    cohort = cohorts.ctn0030()
    fit = QLearning(cohort.design).fit(cohort)

    printed = str(fit.summary())

    rows = fit.coef_[(fit.coef_["stage"] == "second") & (fit.coef_["term"] == "sev1")]
    for row in rows.itertuples():
        assert f"{row.estimate:.4f}" in printed
        assert (
            f"{row.estimate - 1.959964 * row.std_error:.4f} to {row.estimate + 1.959964 * row.std_error:.4f}" in printed
        )
    assert "Stage second, plus: 180 units, R² 0." in printed
    assert "take the later fit as known" in printed
    assert "Note" not in printed


def test_the_summary_of_one_stage_has_no_caveat_of_later_ones() -> None:
    fit = QLearning(ONE_STAGE).fit(
        read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, 2]}, ONE_STAGE)
    )

    assert "HC3" in str(fit.summary())
    assert "Before the last stage" not in str(fit.summary())


def test_notes_say_what_the_units_do_not_tell() -> None:
    frame: dict[str, Sequence[object]] = {
        "x": [2.0, 2.0, 2.0, 0.0, 0.0, 1.0],
        "A1": list("aaabbb"),
        "Y": [1.0, 3.0, 4.0, 1.0, 3.0, 2.0],
        "id": ["u1", "u2", "u3", "u4", "u5", "u6"],
    }

    fit = QLearning(ONE_STAGE).fit(read(frame, ONE_STAGE, unit="id"))

    assert len(fit.notes_) == 2
    assert "a at stage only: 3 units do not determine the intercept, x;" in fit.notes_[0]
    assert "at least 1 more" in fit.notes_[0]
    assert "b at stage only: no standard errors" in fit.notes_[1]
    assert "leverage 1: u6)" in fit.notes_[1]
    assert all(note in " ".join(str(fit.summary()).split()) for note in fit.notes_)
    assert fit.coef_["std_error"].isna().all()
