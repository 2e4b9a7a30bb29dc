"""What one asks of a study: its frames, its rounds, its paths."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from simulation.worlds import FEW, GOOD, Branching, Counted

mpl.use("Agg")


def test_a_study_without_a_finished_path_says_so() -> None:
    nothing = dtr.simulate(Counted(), FEW, horizon=60, paths=1).take([])

    with pytest.raises(dtr.DTRError, match="no path of this study is finished"):
        nothing.summary()
    assert dtr.simulate(Counted(), FEW, horizon=60, paths=1, resume=nothing).paths == (0,)


def test_without_q_there_are_rewards_and_no_regret() -> None:
    study = dtr.simulate(Branching(knows_q=False), FEW, horizon=60, paths=3)

    assert study.rewards["DTRB"].shape == (3, 60)
    for question in (study.regret, lambda: study.realised("DTRB")):
        with pytest.raises(dtr.DTRError, match=r"does not know its Q-functions.*study\.rewards"):
            question()
    summary = study.summary()
    assert summary.measure == "mean reward"
    assert summary.policies[0].mean == pytest.approx(study.rewards["DTRB"].mean())
    assert summary.policies[0].worst == study.rewards["DTRB"].mean(axis=1).min()


def test_without_q_policies_are_compared_with_the_best_by_mean_outcome() -> None:
    study = dtr.simulate(Branching(knows_q=False), {"random": dtr.UniformRandom(), **FEW}, horizon=60, paths=3)
    means = {name: outcomes.mean() for name, outcomes in study.rewards.items()}
    best = max(means, key=lambda name: means[name])

    summary, ax = study.summary(), study.plot()

    assert study.best == best
    assert {pair.reference for pair in summary.differences} == {best}
    assert {pair.policy for pair in summary.differences} == set(means) - {best}
    assert f"{best} has the best mean of these paths." in str(summary)
    for line, name in zip(ax.lines, study.policies, strict=True):
        lost = (study.rewards[best] - study.rewards[name]).sum(axis=1)
        assert np.asarray(line.get_ydata())[-1] == pytest.approx(lost.mean(), abs=1e-9)
        assert study.behind_best(name, [60])[:, 0] == pytest.approx(lost)
    assert ax.get_ylabel().startswith(f"outcome lost against {best}, the best on average")
    plt.close("all")


@pytest.mark.parametrize("at", [[0], [31], [], [1.5], "some", [[1, 2]]], ids=str)
def test_rounds_outside_the_study_are_refused(at: Any) -> None:
    study = dtr.simulate(Synthetic(), **GOOD)

    with pytest.raises(dtr.DesignError, match="at must be"):
        study.regret(at=at)


def test_by_default_rounds_are_even_in_their_logarithm_and_end_at_the_horizon(study: dtr.Study) -> None:
    t = np.unique(study.regret()["t"])

    assert t[0] == 1
    assert t[-1] == 1000
    assert len(t) <= 200
    assert np.diff(np.log(t[t > 200])).max() < 2 * np.log(1000) / 199


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


def test_rounds_in_any_order_give_the_same_numbers_as_all(study: dtr.Study) -> None:
    some, everything = study.regret(at=[900, 30]), study.regret(at="all")

    both = some.merge(everything, on=["policy", "path", "t"], suffixes=("", "_all"))
    assert some["t"].tolist()[:2] == [900, 30]
    assert both["regret"].equals(both["regret_all"].rename("regret"))


def test_a_study_shows_itself_in_one_line(study: dtr.Study) -> None:
    assert repr(study) == "<Study of 8 paths of 1,000 rounds of Synthetic(): uniform, DTRB, greedy>"


def test_results_cannot_be_changed(study: dtr.Study) -> None:
    with pytest.raises(ValueError, match="read-only"):
        study.rewards["DTRB"][0, 0] = 1.0


def test_a_path_that_was_not_run_cannot_be_taken(study: dtr.Study) -> None:
    with pytest.raises(dtr.DesignError, match="path 8 is not among the 8 finished paths"):
        study.take([0, 8])


def test_realised_regret_of_an_unknown_policy_is_refused(study: dtr.Study) -> None:
    with pytest.raises(dtr.DesignError, match="there is no policy 'nobody'"):
        study.realised("nobody")
