"""How policies compare: in numbers as numpy gives them, and in a table."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from simulation.compared import POLICIES


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


def test_names_are_shown_as_they_are_whatever_they_would_mean_to_a_markup() -> None:
    names = ["DTRB [q=5]", "a [/b] c", ":smile: [red]x"]
    study = dtr.simulate(Synthetic(), dict.fromkeys(names, dtr.UniformRandom()), horizon=10, paths=2)

    shown = str(study.summary())

    assert all(name in shown for name in names)
    assert "Difference from DTRB [q=5], on the same units" in shown
