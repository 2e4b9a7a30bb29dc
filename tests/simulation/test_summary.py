"""How policies compare: in numbers as numpy gives them, and in a table."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.intervals import mean_over_paths
from dtrbandit.simulation.summary import PairedDifference, PolicySummary, StudySummary, Totals, summarise
from simulation.compared import POLICIES


def told(summary: StudySummary) -> list[PolicySummary | PairedDifference]:
    return [*summary.policies, *summary.differences]


def test_the_summary_says_what_numpy_says(study: dtr.Study) -> None:
    final = study.regret(at=[500, 1000]).pivot_table(index="path", columns=["policy", "t"], values="regret")

    summary = study.summary()

    for row in summary.policies:
        own, half = final[row.policy][1000], final[row.policy][500]
        assert row.mean == pytest.approx(own.mean())
        assert np.isnan([row.std_error, row.low, row.high]).all()
        assert row.interval == "too few paths for an interval"
        assert (row.path_5, row.median, row.path_95) == pytest.approx(np.quantile(own, [0.05, 0.5, 0.95]))
        assert row.worst == pytest.approx(own.max())
        assert row.second_half == pytest.approx(1 - half.sum() / own.sum())
    for pair in summary.differences:
        differences = final[pair.policy][1000] - final["uniform"][1000]
        assert pair.reference == "uniform"
        assert (pair.mean, pair.worst) == pytest.approx((differences.mean(), differences.max()))
        assert (pair.path_5, pair.path_95) == pytest.approx(np.quantile(differences, [0.05, 0.95]))
        assert np.isnan(pair.low)
        assert pair.share_better == (differences < 0).mean()


def test_common_random_numbers_narrow_the_interval_of_a_difference() -> None:
    """Two policies that differ little are told apart by pairs: the interval is less than half of the unpaired one."""
    pair = {"0.5": dtr.DTRBandit(q=5, delta=0.5), "0.6": dtr.DTRBandit(q=5, delta=0.6)}

    summary = dtr.simulate(Synthetic(), pair, horizon=300, paths=200).summary()

    assert {row.interval for row in told(summary)} == {"about 90 %"}
    first, second = (row.std_error for row in summary.policies)
    unpaired = np.hypot(first, second)
    assert 0 < summary.differences[0].std_error < unpaired / 2


def test_the_summary_prints_a_table_and_gives_a_frame(study: dtr.Study) -> None:
    summary = study.summary()

    text = str(summary)
    assert "Regret after 1,000 rounds, 8 paths" in text
    assert "Difference from uniform, on the same units" in text
    assert "8 paths are too few for an interval of the mean: 200 give one of about 90 %, 500 one of 95 %." in text
    assert all(f"{row.mean:,.1f}" in text for row in summary.policies)
    assert max(map(len, text.splitlines())) <= 100
    assert summary.to_frame().loc["DTRB", "difference_mean"] == summary.differences[0].mean


def test_one_path_and_one_round_have_a_summary_without_intervals() -> None:
    summary = dtr.simulate(Synthetic(), POLICIES, horizon=1, paths=1).summary()

    assert np.isnan(summary.policies[0].low)
    assert summary.policies[0].second_half in (0.0, 1.0)
    assert "1 path is too few for an interval of the mean" in str(summary)
    assert "interval" not in str(summary).splitlines()[2]


def made(paths: int, *, names: tuple[str, ...] = ("a", "b", "c"), regret: bool = True) -> StudySummary:
    rng = np.random.default_rng(paths)
    final = {name: rng.exponential(10.0, size=paths) + number for number, name in enumerate(names)}
    half = {name: values / 2 for name, values in final.items()} if regret else None
    return summarise(Totals(final, half, 100), seed=5)


@pytest.mark.parametrize(("paths", "level"), [(200, "about 90 %"), (499, "about 90 %"), (500, "95 %")])
def test_the_number_of_paths_decides_what_an_interval_is_called(paths: int, level: str) -> None:
    summary = made(paths)

    text = str(summary)
    assert f"{level} interval" in text
    assert "too few" not in text
    assert max(map(len, text.splitlines())) <= 100
    for row in told(summary):
        assert row.interval == level
        assert row.low < row.mean < row.high
        assert f"{row.low:.1f} to" in text or f"{row.low:.3f} to" in text


def test_below_200_paths_no_interval_is_printed_or_given() -> None:
    summary = made(199)

    frame = summary.to_frame()
    assert frame[["std_error", "low", "high", "difference_low"]].isna().all(axis=None)
    assert set(frame["interval"]) == {"too few paths for an interval"}
    assert "% interval" not in str(summary)


def test_against_the_best_intervals_hold_for_all_pairs_and_are_wider() -> None:
    """By outcome the reference is chosen by the paths, so each interval is that of all pairs together."""
    summary = made(500, regret=False)

    alone = mean_over_paths(_values("a") - _values("c"), seed=5)
    pair = summary.differences[0]
    assert (pair.policy, pair.reference) == ("a", "c")  # the one with the largest mean
    assert pair.std_error == pytest.approx(float(alone.std_error))
    assert pair.high - pair.low > float(alone.high - alone.low)
    assert "c has the best mean of these paths; the intervals hold for all pairs" in str(summary)


def _values(name: str) -> NDArray[np.float64]:
    rng = np.random.default_rng(500)
    return {own: rng.exponential(10.0, size=500) + number for number, own in enumerate("abc")}[name]


def test_names_are_shown_as_they_are_whatever_they_would_mean_to_a_markup() -> None:
    names = ["DTRB [q=5]", "a [/b] c", ":smile: [red]x"]
    study = dtr.simulate(Synthetic(), dict.fromkeys(names, dtr.UniformRandom()), horizon=10, paths=2)

    shown = str(study.summary())

    assert all(name in shown for name in names)
    assert "Difference from DTRB [q=5], on the same units" in shown
