"""Study files: what is right is read, what is wrong is told with its line and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.environments import ArrivalProcess, Exponential, Fixed, Gamma, Linear, LogNormal, Synthetic
from dtrbandit.simulation.run_paths import run_paths
from dtrbandit.simulation.study_toml import read_study

ROOT = Path(__file__).parents[2]
TEXT = """\
# what is compared
horizon = 50
paths = 2
seed = 7

[environment]
name = "Linear"
stages = 3
arms = [2, 3, 2]

[policies]
"DTRB(5, 0.5)" = { name = "DTRBandit", q = 5, delta = [0.5, 0.5, 1.0] }
optimist = { name = "LSVIUCB" }

[policies.fixed]
name = "FixedRegime"
rule = { stage1 = "1", stage2 = "3", stage3 = "2" }

[arrivals]
between = { name = "Fixed", mean = 1.0 }
response = [
    { name = "Gamma", mean = 2.0, shape = 3.0 },
    { name = "Exponential", mean = 2.0 },
]
dropout = [0.0, 0.1, 0.0]
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "study.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_study_file_says_everything_that_simulate_takes(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, TEXT))

    assert study.environment == Linear(stages=3, arms=(2, 3, 2))
    assert study.policies == {
        "DTRB(5, 0.5)": dtr.DTRBandit(q=5, delta=(0.5, 0.5, 1.0)),
        "optimist": dtr.LSVIUCB(),
        "fixed": dtr.FixedRegime(rule={"stage1": "1", "stage2": "3", "stage3": "2"}),
    }
    response = Gamma(2.0, 3.0), Exponential(2.0)
    assert study.arrivals == ArrivalProcess(between=Fixed(1.0), response=response, dropout=(0.0, 0.1, 0.0))
    assert (study.horizon, study.paths, study.seed, study.design) == (50, 2, 7, None)
    dtr.simulate(
        study.environment,
        study.policies,
        horizon=study.horizon,
        paths=study.paths,
        seed=study.seed,
        arrivals=study.arrivals,
    )


CLOSINGS = """\
closings = [
    { round = 30, stage = "stage2", arm = "1" },
    { round = 20, stage = "stage1", arm = "2" },
]
"""


@pytest.mark.parametrize(
    "closings",
    [
        (CLOSINGS, ""),
        ("", '[[closings]]\nround = 30\nstage = "stage2"\narm = "1"\n'
             '[[closings]]\nround = 20\nstage = "stage1"\narm = "2"\n'),
    ],
)  # fmt: skip
def test_arms_are_closed_as_by_simulate(tmp_path: Path, closings: tuple[str, str]) -> None:
    before, after = closings

    study = read_study(written(tmp_path, before + TEXT.replace('optimist = { name = "LSVIUCB" }\n', "") + after))

    assert study.closings == (dtr.Closing(20, "stage1", "2"), dtr.Closing(30, "stage2", "1"))
    run = run_paths(study)
    for name in ("DTRB(5, 0.5)", "fixed"):
        assert (run.arms[name][:, 19:, 0] == 0).all()
        assert (run.arms[name][:, 29:, 1] != 0).all()


@pytest.mark.parametrize(
    ("closings", "told"),
    [
        ("7", "closings must be a list of tables"),
        ("[7]", "a closing is a table such as { round = 500"),
        ('[{ round = 5, stage = "stage1" }]', "a closing is a table such as { round = 500"),
        ('[{ round = 5, stage = "stage1", arm = "1", why = "harm" }]', "unknown entry of a closing 'why'"),
        (
            '[{ round = 0, stage = "stage1", arm = "1" }]',
            "Closing: round must be a whole number of at least 1, found 0",
        ),
        ('[{ round = 5, stage = "first", arm = "1" }]', "there is no stage 'first'; the stages are"),
        ('[{ round = 5, stage = "stage1", arm = "9" }]', "stage 'stage1' has no arm '9'; its arms are"),
        ('[{ round = 5, stage = 1, arm = "1" }]', "there is no stage 1"),
        ('[{ round = 5, stage = "stage1", arm = "1" }, { round = 6, stage = "stage1", arm = "2" }]', "it is the last"),
    ],
)
def test_a_closing_that_cannot_be_is_told_on_its_line(tmp_path: Path, closings: str, told: str) -> None:
    file = written(tmp_path, TEXT.replace("seed = 7", f"closings = {closings}"))

    with pytest.raises(dtr.DesignError) as refused:
        read_study(file)

    assert str(refused.value).startswith(f"{file}, line 4: ")
    assert told in str(refused.value)


def test_an_earlier_trial_is_refused_and_not_overlooked(tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match=r"line 4: an earlier trial is given in Python: simulate\(..., prior="):
        read_study(written(tmp_path, TEXT.replace("seed = 7", 'prior = "earlier.csv"')))


def test_the_example_is_read_as_it_says() -> None:
    study = read_study(ROOT / "examples/study.toml")

    assert study.environment == Synthetic()
    assert list(study.policies) == ["DTRB(5, 0.5)", "0.1-Greedy", "Greedy"]
    assert isinstance(study.arrivals, ArrivalProcess)
    assert study.arrivals.response == LogNormal(30.0, 0.5)


def test_a_learners_design_comes_from_a_file_beside_the_study(tmp_path: Path) -> None:
    wrong = dtr.Design(
        [dtr.Stage(f"stage{m}", Linear(stages=3, arms=(2, 3, 2)).design.stages[m - 1].arms, "1") for m in (1, 2, 3)]
    )
    (tmp_path / "wrong.toml").write_text(wrong.to_toml())

    study = read_study(written(tmp_path, f'design = "wrong.toml"\n{TEXT}'))

    assert study.design == wrong


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("seed = 7", "sede = 7", 4, "unknown entry 'sede', did you mean 'seed'? Known are environment"),
        ("horizon = 50", "horizon = 0", 2, "horizon must be a whole number of at least 1, found 0"),
        ("horizon = 50", "horizon = 5.5", 2, "horizon must be a whole number of at least 1, found 5.5"),
        ("paths = 2", "paths = -3", 3, "paths must be a whole number of at least 1, found -3"),
        ("seed = 7", "seed = -7", 4, "seed must be a whole number of at least 0, found -7"),
        ('name = "Linear"', 'name = "linaer"', 7, "unknown environment 'linaer', did you mean 'Linear'?"),
        ('name = "Linear"', 'name = "Tabulated"', 7, "unknown environment 'Tabulated'; known are Synthetic, Linear"),
        ('name = "Linear"', 'name = ["Linear"]', 7, "unknown environment \"['Linear']\""),
        ('name = "Linear"', 'nam = "Linear"', 6, "environment: 'name' is missing; known are Synthetic"),
        ("stages = 3", "stage = 3", 8, "unknown parameter of Linear 'stage', did you mean 'stages'?"),
        ("stages = 3", "stages = 99", 8, "Linear: stages must be a whole number from 1 to 20, found 99"),
        ("arms = [2, 3, 2]", "arms = [2, 3]", 9, "Linear: arms must be one value or 3, found 2"),
        ('"DTRBandit", q', '"DTRBandti", q', 12, "unknown policy 'DTRBandti', did you mean 'DTRBandit'?"),
        ('"LSVIUCB"', '"lsviucb"', 13, "unknown policy 'lsviucb', did you mean 'LSVIUCB'?"),
        ("q = 5", "Q = 5", 12, "unknown parameter of DTRBandit 'Q', did you mean 'q'? Known are q, delta, schedule"),
        ("q = 5, ", "", 12, "DTRBandit: the parameter 'q' is missing"),
        ("q = 5", "q = 0", 12, "DTRBandit: q must be a whole number from 1 to 1,000,000, found 0"),
        ("[0.5, 0.5, 1.0]", "[0.5, 0.5]", 12, "DTRBandit: delta"),
        ('stage2 = "3"', 'stage2 = "4"', 15, "FixedRegime"),
        ('{ name = "LSVIUCB" }', '"LSVIUCB"', 13, 'optimist must be a table such as { name = "…" }, found \'LSVIUCB\''),
        ("mean = 1.0 }", "mean = -1.0 }", 20, "Fixed: mean must be a finite number of at least 0, found -1.0"),
        ("shape = 3.0", "shap = 3.0", 21, "unknown parameter of Gamma 'shap', did you mean 'shape'?"),
        ('"Exponential"', '"Expnential"', 21, "unknown duration 'Expnential', did you mean 'Exponential'?"),
        ("between =", "betwen =", 20, "unknown parameter of arrivals 'betwen', did you mean 'between'?"),
        ("dropout = [0.0, 0.1, 0.0]", "dropout = [0.0, 1.1, 0.0]", 25, "dropout[1] must be a finite number"),
        ("dropout = [0.0, 0.1, 0.0]", "dropout = [0.0, 0.1]", 19, "dropout must be one value or 3, found 2"),
        ("seed = 7", 'design = "none.toml"', 4, "cannot read the design"),
        ("seed = 7", "design = 3", 4, "design must be the name of a design file"),
    ],
)  # fmt: skip
def test_a_wrong_file_gives_line_and_remedy(tmp_path: Path, old: str, new: str, line: int, told: str) -> None:
    file = written(tmp_path, TEXT.replace(old, new, 1))
    assert TEXT.count(old) >= 1

    with pytest.raises(dtr.DesignError) as refused:
        read_study(file)

    assert str(refused.value).startswith(f"{file}, line {line}: ")
    assert told in str(refused.value)


def test_a_design_that_does_not_fit_the_environment_is_refused_on_its_line(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text((ROOT / "examples/design.toml").read_text())

    with pytest.raises(dtr.DesignError, match=r"study\.toml, line 4: design= differs from the environment's in .*name"):
        read_study(written(tmp_path, TEXT.replace("seed = 7", 'design = "other.toml"')))


@pytest.mark.parametrize("missing", ["horizon", "paths", "environment", "policies"])
def test_a_file_without_a_part_says_which(tmp_path: Path, missing: str) -> None:
    parts = {
        "horizon": "horizon = 9",
        "paths": "paths = 2",
        "environment": "[environment]\nname = 'Synthetic'",
        "policies": "[policies]\ngreedy = {name = 'Greedy'}",
    }
    del parts[missing]

    with pytest.raises(dtr.DesignError, match=f"{missing!r} is missing; a study needs environment, policies, horizon"):
        read_study(written(tmp_path, "\n".join(parts.values())))


def test_a_study_without_policies_is_refused(tmp_path: Path) -> None:
    text = "horizon = 9\npaths = 2\n[environment]\nname = 'Synthetic'\n[policies]\n"

    with pytest.raises(dtr.DesignError, match=r"line 5: a study needs at least one policy"):
        read_study(written(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"horizon = 5\npaths 3\n", r"is not valid TOML: .*line 2"),
        (b"horizon = 5\nhorizon = 6\n", r"is not valid TOML: .*line 2"),
        (b"horizon = '\xff'\n", r"is not valid TOML: .*save it as UTF-8"),
        (b"a = " + b"[" * 3000, r"is not valid TOML"),
    ],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "study.toml").write_bytes(content)

    with pytest.raises(dtr.DesignError, match=told):
        read_study(tmp_path / "study.toml")


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(dtr.DesignError, match=r"cannot read .*: (No such file|Is a directory).*give a TOML file"):
        read_study(tmp_path / name)
