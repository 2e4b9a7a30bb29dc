"""What one asks of a study: frames, summaries, intervals."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.intervals import interval, student_quantile

POLICIES = {"uniform": dtr.UniformRandom(), "DTRB": dtr.DTRBandit(q=5, delta=0.5), "greedy": dtr.Greedy()}


@pytest.fixture(scope="module")
def study() -> dtr.Study:
    return dtr.simulate(Synthetic(), POLICIES, horizon=1000, paths=8, seed=1)


def test_the_frame_holds_sums_up_to_each_round(study: dtr.Study) -> None:
    frame = study.regret(at="all")

    assert list(frame.columns) == ["policy", "path", "t", "regret", "first", "second", "realised"]
    assert len(frame) == 3 * 8 * 1000
    assert study.stage_regret is not None
    row = frame[(frame["policy"] == "greedy") & (frame["path"] == 3) & (frame["t"] == 700)].iloc[0]
    first, second = study.stage_regret["greedy"][3, :700].sum(axis=0)
    assert row["first"] == pytest.approx(first)
    assert row["second"] == pytest.approx(second)
    assert row["regret"] == pytest.approx(first + second)
    assert row["realised"] == pytest.approx(study.realised("greedy")[3, :700].sum())


def test_by_default_rounds_are_even_in_their_logarithm_and_end_at_the_horizon(study: dtr.Study) -> None:
    t = np.unique(study.regret()["t"])

    assert t[0] == 1
    assert t[-1] == 1000
    assert len(t) <= 200
    assert np.diff(np.log(t[t > 200])).max() < 2 * np.log(1000) / 199


def test_rounds_in_any_order_give_the_same_numbers_as_all(study: dtr.Study) -> None:
    some, everything = study.regret(at=[900, 30]), study.regret(at="all")

    both = some.merge(everything, on=["policy", "path", "t"], suffixes=("", "_all"))
    assert some["t"].tolist()[:2] == [900, 30]
    assert both["regret"].equals(both["regret_all"].rename("regret"))


def test_the_summary_says_what_numpy_says(study: dtr.Study) -> None:
    final = study.regret(at=[500, 1000]).pivot_table(index="path", columns=["policy", "t"], values="regret")

    summary = study.summary()

    for row in summary.policies:
        own, half = final[row.policy][1000], final[row.policy][500]
        assert row.mean == pytest.approx(own.mean())
        assert row.std_error == pytest.approx(own.std() / np.sqrt(8))
        assert row.high - row.mean == pytest.approx(2.364624 * own.std() / np.sqrt(8))  # t of 7 degrees, from a table
        assert (row.median, row.worst) == pytest.approx((own.median(), own.max()))
        assert row.second_half == pytest.approx(1 - half.sum() / own.sum())
    for pair in summary.differences:
        differences = final[pair.policy][1000] - final["uniform"][1000]
        assert pair.reference == "uniform"
        assert (pair.mean, pair.std_error) == pytest.approx((differences.mean(), differences.std() / np.sqrt(8)))
        assert pair.share_better == (differences < 0).mean()


def test_common_random_numbers_narrow_the_interval_of_a_difference() -> None:
    """Two policies that differ little are told apart by pairs: the interval is less than half of the unpaired one."""
    pair = {"0.5": dtr.DTRBandit(q=5, delta=0.5), "0.6": dtr.DTRBandit(q=5, delta=0.6)}

    summary = dtr.simulate(Synthetic(), pair, horizon=1500, paths=20).summary()

    first, second = (row.std_error for row in summary.policies)
    unpaired = np.hypot(first, second)
    assert 0 < summary.differences[0].std_error < unpaired / 2


def test_the_summary_prints_a_table_and_gives_a_frame(study: dtr.Study) -> None:
    summary = study.summary()

    text = str(summary)
    assert "Regret after 1,000 rounds, 8 paths" in text
    assert "Difference from uniform, on the same units" in text
    assert all(f"{row.mean:,.1f}" in text for row in summary.policies)
    assert max(map(len, text.splitlines())) <= 100
    assert summary.to_frame().loc["DTRB", "difference_mean"] == summary.differences[0].mean


def test_one_path_and_one_round_have_a_summary_without_intervals() -> None:
    summary = dtr.simulate(Synthetic(), POLICIES, horizon=1, paths=1).summary()

    assert np.isnan(summary.policies[0].low)
    assert summary.policies[0].second_half in (0.0, 1.0)
    assert "–" in str(summary)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [
        (1, 12.7062047),
        (2, 4.3026527),
        (3, 3.1824463),
        (4, 2.7764451),
        (9, 2.2621572),
        (30, 2.0422725),
        (999, 1.9623415),
    ],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, expected: float) -> None:
    assert student_quantile(freedom) == pytest.approx(expected, abs=5e-7)


def test_with_one_degree_of_freedom_the_quantile_is_a_tangent() -> None:
    assert student_quantile(1, level=0.8) == pytest.approx(np.tan(0.4 * np.pi))


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    """19 in 20 of 4,000 intervals, give or take five standard deviations of 0.0034."""
    means = interval(np.random.default_rng(1).normal(size=(4, 4000)))

    covered = ((means.low < 0) & (means.high > 0)).mean()
    assert abs(covered - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 4000)


def test_a_study_shows_itself_in_one_line(study: dtr.Study) -> None:
    assert repr(study) == "<Study of 8 paths of 1,000 rounds of Synthetic(): uniform, DTRB, greedy>"


def test_results_cannot_be_changed(study: dtr.Study) -> None:
    with pytest.raises(ValueError, match="read-only"):
        study.rewards["DTRB"][0, 0] = 1.0


def test_a_path_that_was_not_run_cannot_be_taken(study: dtr.Study) -> None:
    with pytest.raises(dtr.DesignError, match="path 8 is not among the 8 finished paths"):
        study.take([0, 8])


def test_names_are_shown_as_they_are_whatever_they_would_mean_to_a_markup() -> None:
    names = ["DTRB [q=5]", "a [/b] c", ":smile: [red]x"]
    study = dtr.simulate(Synthetic(), dict.fromkeys(names, dtr.UniformRandom()), horizon=10, paths=2)

    shown = str(study.summary())

    assert all(name in shown for name in names)
    assert "Difference from DTRB [q=5], on the same units" in shown


def test_realised_regret_of_an_unknown_policy_is_refused(study: dtr.Study) -> None:
    with pytest.raises(dtr.DesignError, match="there is no policy 'nobody'"):
        study.realised("nobody")
