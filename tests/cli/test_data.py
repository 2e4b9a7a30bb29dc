"""Finished trials from the command line: tables, files, JSON, and what is said about bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.cli import app
from dtrbandit.cli.data import _overlap, policy_from_text, propensities, regimes_from_text
from dtrbandit.environments import STARD
from evaluation.simulated_cohorts import fewer_and_fewer_arms

EXAMPLE = Path(__file__).parents[2] / "examples/design.toml"
Run = Callable[..., tuple[int, str, str]]
COLUMNS = ("--arms", "A1,A2", "--outcome", "Y")
SMALL = ("--horizon", "40", "--paths", "3", "--jobs", "1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in a folder with a trial of 400 units; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(STARD().logged(400, np.random.default_rng(0))).to_csv("trial.csv", index=False)

    def command(name: str, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            app([name, "trial.csv", str(EXAMPLE), *arguments])
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, *capsys.readouterr()

    return command


def cohort() -> dtr.Cohort:
    return dtr.Cohort.from_frame("trial.csv", dtr.Design.from_toml(EXAMPLE), arms=["A1", "A2"], outcome="Y")


def test_fit_prints_counts_and_coefficients_and_writes_them(run: Run) -> None:
    code, out, _ = run("fit", *COLUMNS, "--out", "results")

    learned = dtr.QLearning(cohort().design).fit(cohort())
    assert code == 0
    assert str(cohort()).splitlines()[0] in out
    assert "Stage second, other" in out
    pd.testing.assert_frame_equal(pd.read_csv("results/coefficients.csv"), learned.coef_, rtol=1e-7)
    assert Path("results/recommendations.png").stat().st_size > 10_000
    assert Path("results/who.png").stat().st_size > 10_000


@pytest.mark.slow
def test_fit_lets_others_stand_for_drop_outs(run: Run) -> None:
    code, out, _ = run("fit", *COLUMNS, "--dropouts", "weighted", "--choice", "first=uniform", "--out", "results")

    known = cohort().with_propensities(dtr.PropensityModel(choice={"first": "uniform"}))
    learned = dtr.QLearning(known.design, dropouts="weighted").fit(known)
    assert code == 0
    assert "Drop-outs, weighted:" in out
    assert "Propensities of 400 units" in out
    pd.testing.assert_frame_equal(pd.read_csv("results/coefficients.csv"), learned.coef_, rtol=1e-6)
    assert not np.allclose(learned.coef_["estimate"], dtr.QLearning(known.design).fit(known).coef_["estimate"])


def test_fit_as_json_is_one_document_with_the_numbers(run: Run) -> None:
    code, out, _ = run("fit", *COLUMNS, "--json")

    document = json.loads(out)
    assert code == 0
    assert document["files"] == [
        f"results/trial/{name}"
        for name in ("recommendations.png", "who.png", "coefficients.csv", "contrasts.csv", "recommendations.csv")
    ]
    assert document["claims"] == []
    assert [(row["stage"], row["arm"], row["term"]) for row in document["table"][:2]] == [
        ("first", "ssri", "1"),
        ("first", "ssri", "qids_start1"),
    ]
    first, last = document["table"][0], document["table"][-1]
    assert (first["method"], first["std_error"], first["low"]) == ("none", None, None)  # not regular, and too few units
    assert last["method"] == "sandwich"
    assert last["std_error"] > 0


def test_replay_gives_what_the_library_gives(run: Run) -> None:
    code, out, err = run(
        "replay",
        *COLUMNS,
        "--policy",
        "DTRBandit(q=1, delta=50)",
        "--policy",
        "Greedy",
        *SMALL,
        "--paths",
        "20",
        "--json",
    )

    expected = dtr.replay(
        dtr.DTRBandit(q=1, delta=50), cohort().with_propensities(dtr.PropensityModel()), horizon=40, paths=20
    )
    document = json.loads(out)
    assert code == 0
    assert [row["policy"] for row in document["table"]] == ["DTRBandit(q=1, delta=50)", "Greedy"]
    assert document["table"][0]["value"] == pytest.approx(expected.value)
    assert document["table"][0]["std_error"] == pytest.approx(expected.std_error)
    assert "paths" in err  # progress
    names = ["replay.png", "replay.csv", "differences.csv", "overlap.png", "balance.csv"]
    assert document["files"] == [f"results/trial/{name}" for name in names]
    assert all(Path(file).stat().st_size > 100 for file in document["files"])


@pytest.mark.slow
def test_replay_says_which_interval_is_meant_and_has_one_over_cohorts(run: Run) -> None:
    policies = ("--policy", "Greedy", "--policy", "UniformRandom()")

    _, few, _ = run("replay", *COLUMNS, *policies, *SMALL)
    _, over_paths, _ = run("replay", *COLUMNS, *policies, *SMALL, "--paths", "60")
    code, out, err = run("replay", *COLUMNS, *policies, *SMALL, "--penalty", "1", "--cohorts", "30")

    assert "3 paths are too few for an interval over paths" in " ".join(few.split())
    assert "Differences, path by path, too few paths for an interval: Greedy less" in " ".join(few.split())
    assert "95 % interval over paths through this cohort" in " ".join(over_paths.split())
    assert code == 0
    assert "resampled cohorts: 30 of 30" in err
    flat = " ".join(out.split())
    assert "95 % interval over cohorts" in flat
    assert "Differences, path by path, with 95 % intervals over cohorts: Greedy less UniformRandom():" in flat
    differences = pd.read_csv("results/trial/differences.csv")
    assert differences["interval_over"].tolist() == ["over cohorts"]
    assert set(pd.read_csv("results/trial/replay.csv")["interval_over"]) == {"over cohorts"}


@pytest.mark.filterwarnings("default")
def test_replay_without_propensities_draws_all_units_alike_and_warns_once(run: Run) -> None:
    both = ("--policy", "UniformRandom()", "--policy", "Greedy")
    _, _, err = run("replay", *COLUMNS, *both, *SMALL, "--equal", "--out", "twice")
    code, out, _ = run("replay", *COLUMNS, "--policy", "UniformRandom()", *SMALL, "--equal", "--out", "here")

    assert code == 0
    assert err.count("warning: rows are drawn with equal weights") == 1
    assert "Caution: rows are drawn with equal weights, but 158 of 400 units left early" in " ".join(out.split())
    assert "Propensities" not in out
    assert sorted(file.name for file in Path("here").iterdir()) == ["replay.csv", "replay.png"]


@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.EqualWeights")
def test_replay_once_meets_no_unit_twice(run: Run) -> None:
    code, out, _ = run("replay", *COLUMNS, "--policy", "UniformRandom()", *SMALL, "--equal", "--once", "--json")

    assert code == 0
    (row,) = json.loads(out)["table"]
    assert row["different_units"] == row["horizon"] == 40
    assert row["expected_acceptance"] is None


@pytest.mark.filterwarnings("default")
def test_a_warning_is_a_line_of_its_own(run: Run) -> None:
    code, _, err = run("replay", *COLUMNS, "--policy", "Greedy", "--horizon", "500", "--paths", "2", "--jobs", "1")

    assert code == 0
    (line,) = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert "effective sample size" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*COLUMNS[:3], "Z", "--policy", "Greedy"), ["'Z'", "Y"]),
        (("--arms", "A1", "--outcome", "Y", "--policy", "Greedy"), ["one column for each", "A1"]),
        ((*COLUMNS, "--policy", "Gready"), ["Gready", "did you mean 'Greedy'?"]),
        ((*COLUMNS, "--policy", "DTRBandit(q=1, delta)"), ["DTRBandit(q=1, delta)", "write it as"]),
        (
            (*COLUMNS, "--policy", "EpsilonGreedy(0.1)"),
            ["every parameter needs its name; write it as EpsilonGreedy(epsilon=0.1); its parameters are"],
        ),
        ((*COLUMNS, "--policy", "EpsilonGreedy(epsilon=0.1"), ["write it as EpsilonGreedy(epsilon=…)"]),
        ((*COLUMNS, "--policy", "Greedy(1)"), ["write it as Greedy("]),
        ((*COLUMNS[:3], "y", "--policy", "Greedy"), ["did you mean 'Y' for 'y'?"]),
        (
            (*COLUMNS, "--policy", "Greedy", "--horizon", "1000000000000"),
            ["GB of memory", "take fewer, or shorter ones"],
        ),
        ((*COLUMNS, "--policy", "DTRBandit(q=0, delta=1)"), ["q must be"]),
        ((*COLUMNS, "--policy", "Greedy", "--recode", "A1 1=ssri"), ["A1 1=ssri", "'A1: 1=ssri, -1=other'"]),
        ((*COLUMNS, "--policy", "Greedy", "--choice", "second"), ["'second'", "formula"]),
        ((*COLUMNS, "--policy", "Greedy", "--choice", "third=1"), ["third", "first"]),
        ((*COLUMNS, "--policy", "Greedy", "--horizon", "0"), ["horizon", "0"]),
    ],
)
def test_bad_input_is_said_and_leaves_nothing(run: Run, options: tuple[str, ...], said: list[str]) -> None:
    code, out, err = run("replay", *options)

    assert (code, out) == (2, "")
    assert all(word in err for word in said)
    assert not Path("results").exists()


def test_a_cell_can_be_recoded_to_no_arm(run: Run) -> None:
    table = pd.read_csv("trial.csv")
    table.fillna({"A2": "nobody"}).to_csv("trial.csv", index=False)

    code, out, _ = run("fit", *COLUMNS, "--recode", "A2: nobody=")

    table.to_csv("trial.csv", index=False)
    assert code == 0
    assert str(cohort()) in out


@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.EqualWeights")
def test_a_unit_with_a_blank_covariate_can_be_left_out(run: Run) -> None:
    table = pd.read_csv("trial.csv")
    table.loc[3, "qids_start1"] = None
    table.to_csv("trial.csv", index=False)
    refused, _, err = run("fit", *COLUMNS)

    code, out, _ = run("fit", *COLUMNS, "--missing", "drop")
    played, shown, _ = run("replay", *COLUMNS, "--policy", "Greedy", *SMALL, "--equal", "--missing", "drop")

    assert (refused, code, played) == (2, 0, 0)
    assert "--missing drop: row 4" in err
    for said in (out, shown):
        assert "A cohort of 399 units" in said
        assert "1  without 'qids_start1'" in said


def test_who_chose_the_arms_can_be_said(run: Run) -> None:
    unsaid, said = (run("fit", *COLUMNS, *more)[1] for more in ((), ("--origin", "observational")))

    assert "Origin not stated: intervals assume that no policy learnt from earlier units." in unsaid
    assert "Arms were given by the unit's own record, not at random." in said
    assert "not stated" not in said


def test_a_policy_is_written_as_python_prints_it() -> None:
    policy = dtr.DTRBandit(q=2, delta=0.5)

    assert policy_from_text(repr(policy)) == policy
    assert policy_from_text("DTRBandit(q=1, delta=[1, 2])") == dtr.DTRBandit(q=1, delta=(1.0, 2.0))
    assert policy_from_text(" Greedy ") == dtr.Greedy()


def test_options_of_the_propensity_model() -> None:
    model = propensities(["first=0.5", "second=1 + x"], ["second=1 + z"], penalty=2.0, clip=(0.1, 0.9))

    assert model == dtr.PropensityModel(
        choice={"first": 0.5, "second": "1 + x"}, staying={"second": "1 + z"}, penalty=2.0, clip=(0.1, 0.9)
    )


def test_the_overlap_of_every_choice_is_drawn() -> None:
    picture = _overlap(fewer_and_fewer_arms().with_propensities(dtr.PropensityModel(choice={"one": "uniform"})))

    labels = [ax.get_xlabel().replace("\n", " ") for ax in picture.axes]
    assert [label.split("(choice of ")[1].removesuffix(")") for label in labels] == [
        "a or b or c at stage 'one'",
        "a or b or c at stage 'two'",
        "b or c at stage 'two'",
    ]


RULES = ("--regime", "switch: first=ssri, second=other", "--regime", "QLearning")


def test_evaluate_gives_what_the_library_gives(run: Run) -> None:
    code, out, _ = run("evaluate", *COLUMNS, *RULES, "--penalty", "1", "--json")

    trial = cohort().with_propensities(dtr.PropensityModel(penalty=1.0))
    switch = dtr.FixedRegime(rule={"first": "ssri", "second": "other"})
    learned = dtr.QLearning(trial.design).fit(trial)
    regimes: dict[str, dtr.FixedRegime | dtr.QLearning] = {"switch": switch, "QLearning": learned}
    expected = dtr.evaluate(trial, regimes).to_frame()
    document = json.loads(out)
    assert code == 0
    assert [(row["regime"], row["estimator"]) for row in document["table"]] == [
        ("switch", "weighted"),
        ("switch", "augmented"),
        ("switch", "q-learning"),
        ("QLearning", "q-learning"),
        ("QLearning", "cross-fitted"),
        ("QLearning", "in sequence"),
    ]
    assert [row["value"] for row in document["table"]] == pytest.approx(expected["value"].tolist())
    assert document["table"][3]["std_error"] is None
    assert document["table"][4]["note"].startswith("It is the mean value of five regimes")
    assert document["table"][5]["note"].startswith("It is the mean value of ten regimes")
    assert document["files"] == [f"results/trial/{name}" for name in ("forest.png", "values.csv", "differences.csv")]
    written = pd.read_csv("results/trial/values.csv")
    assert written["high"].tolist() == pytest.approx(expected["high"].tolist(), rel=1e-6, nan_ok=True)
    assert Path("results/trial/forest.png").stat().st_size > 10_000


def test_evaluate_values_all_plans_unless_told_otherwise(run: Run) -> None:
    code, out, _ = run("evaluate", *COLUMNS, "--choice", "first=1 + preference1", "--out", "here")

    assert code == 0
    for name in ("ssri, then ssri", "ssri, then other", "other, then other", "QLearning"):
        assert f"  {name} " in out
    assert "There is no interval: a unit like these could carry 100 % of the weight" in " ".join(out.split())
    differences = pd.read_csv("here/differences.csv")
    assert len(differences) == 3
    assert {"low", "high", "joint_low", "joint_high"} < set(differences)


@pytest.mark.parametrize(
    ("regime", "said"),
    [
        ("Greedy", ["only a fixed rule has a value", "replay"]),
        ("first=ssri", ["an entry for each of", "second"]),
        ("first=ssri, second=best", ["unknown arm 'best'"]),
        ("FixedRegime(rule)", ["--regime", "write it as"]),
    ],
)
def test_what_is_no_regime_is_said_and_leaves_nothing(run: Run, regime: str, said: list[str]) -> None:
    code, out, err = run("evaluate", *COLUMNS, "--regime", regime)

    assert (code, out) == (2, "")
    assert all(word in err for word in said)
    assert not Path("results").exists()


def test_regimes_are_written_as_arms_or_as_in_python() -> None:
    design = dtr.Design.from_toml(EXAMPLE)
    plain = dtr.FixedRegime(rule={"first": "ssri", "second": "other"})

    found = regimes_from_text(
        [
            "first=ssri, second=other",
            "mine: first=ssri, second=other",
            'by hand: FixedRegime(rule={first="ssri", second={ssri=[1, 0, 0, 0], other=[0, 0, 0, 0]}})',
            "learned: QLearning",
        ],
        design,
    )

    assert found == {
        "first=ssri, second=other": plain,
        "mine": plain,
        "by hand": dtr.FixedRegime(rule={"first": "ssri", "second": {"ssri": (1, 0, 0, 0), "other": (0, 0, 0, 0)}}),
        "learned": None,
    }
