"""The command line: what it prints where, its exit codes, and what it leaves in a folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.reproduce import EXTENSIONS, NAMES, experiments, reproduce
from dtrbandit.words import counted

EXAMPLE = Path(__file__).parents[2] / "examples/study.toml"
Run = Callable[..., tuple[int, str, str]]

SMALL = """\
horizon = 60
paths = 3
[environment]
name = "Synthetic"
[policies]
"DTRB" = { name = "DTRBandit", q = 2, delta = 0.5 }
Greedy = { name = "Greedy" }
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -- help ----------------------------------------------------------------------------------------------------


def test_help_names_the_commands_and_loads_nothing_heavy() -> None:
    """So it comes within half a second (benchmarks/cold_start.py): the rest is typer's and rich's own."""
    heavy = ("numpy", "pandas", "matplotlib", "joblib", "scipy", "pyarrow")
    code = (
        "import sys\nfrom dtrbandit.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert all(name in told for name in ("reproduce", "simulate", "fit", "evaluate", "replay", "doctor"))
    assert told.endswith("[]\n")


# -- reproduce -----------------------------------------------------------------------------------------------


def test_json_is_one_document_on_stdout_and_progress_goes_to_stderr(run: Run) -> None:
    code, out, err = run("reproduce", "figure1", "--paths", "4", "--horizon", "400", "--jobs", "1", "--json")

    document = json.loads(out)
    assert list(document) == ["name", "files", "table", "claims"]
    assert document["name"] == "figure1"
    assert document["files"] == ["results/figure1/figure1.png", "results/figure1/figure1.csv"]
    assert all(Path(file).exists() for file in document["files"])
    assert [row["policy"] for row in document["table"]] == ["DTRB(5, 0.5)", "Greedy", "0.1-Greedy", "LSVI-UCB"]
    fields = ["claim", "measured", "allowed", "holds", "verdict", "whose"]
    assert all(list(claim) == fields for claim in document["claims"])
    assert {claim["whose"] for claim in document["claims"]} == {"the paper's", "ours"}
    assert all(claim["holds"] == (claim["verdict"] == "holds") for claim in document["claims"])
    assert code == any(claim["verdict"] == "refuted" for claim in document["claims"])
    assert "paths: 4 of 4" in err


@pytest.mark.full
def test_all_reproductions_are_one_document_and_have_a_folder_each(run: Run, tmp_path: Path) -> None:
    options = ("--paths", "2", "--horizon", "200", "--jobs", "1", "--out", "mine")
    code, out, _ = run("reproduce", "all", *options, "--json")

    document, chosen = json.loads(out), experiments("all")
    each = {tmp_path / "mine" / name / own: one for name, folder in chosen.items() for own, one in folder.items()}
    assert {row["study"] for row in document["table"]} == {one.name for one in each.values()}
    again = [reproduce(one, folder, paths=2, horizon=200, n_jobs=1) for folder, one in each.items()]
    assert document["claims"] == [claim.record() for result in again for claim in result.claims]
    assert all(result.claims for result in again)
    assert {path.name for path in (tmp_path / "mine").iterdir()} == set(NAMES)
    assert {path.name for path in (tmp_path / "mine" / "extensions").iterdir()} == set(EXTENSIONS)
    assert (tmp_path / "mine" / "extensions" / "delay" / "delay.png").exists()
    assert code == any(claim["verdict"] == "refuted" for claim in document["claims"])


@pytest.mark.parametrize(("paths", "code"), [(2, 0), (12, 1)])
def test_a_claim_that_is_refuted_makes_the_exit_code_one_and_one_that_cannot_be_told_does_not(
    run: Run, paths: int, code: int
) -> None:
    """In 100 rounds nothing has converged: DTRB's regret is nearly all exploration. Two paths cannot tell."""
    found, out, _ = run("reproduce", "figure1", "--paths", str(paths), "--horizon", "100", "--jobs", "1")

    assert found == code
    assert any(line.strip().startswith("✗") for line in out.splitlines()) == (code == 1)
    assert "cannot be told" in out


def test_without_json_a_reader_gets_the_table_the_claims_and_the_files(run: Run) -> None:
    _, out, _ = run("reproduce", "figure2", "--paths", "3", "--horizon", "300", "--jobs", "1", "--out", "here")

    assert "Regret after 300 rounds, 3 paths" in out
    assert "figure2\n" in out
    assert "Claims" in out
    assert "Regret gets lower as q" in out
    assert out.endswith("Written: here/figure2.png\nWritten: here/figure2.csv\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("reproduce", "figure3"), "figure3"),
        (("reproduce", "figure1", "--paths", "0"), "paths must be a whole number of at least 2, found 0"),
        (("reproduce", "figure1", "--paths", "many"), "--paths"),
        (("reproduce", "figure1", "--horizon", "-5"), "horizon must be a whole number of at least 100, found -5"),
        (("reproduce", "figure1", "--horizon", "50"), "horizon must be a whole number of at least 100, found 50"),
        (("reproduce", "figure1", "--seed", "-1"), "seed must be a whole number of at least 0, found -1"),
        (("reproduce", "figure1", "--jobs", "0"), "n_jobs must be None or a whole number other than 0, found 0"),
        (("simulate", "nowhere.toml"), "cannot read the study 'nowhere.toml'"),
        (("simulate", str(EXAMPLE), "--paths", "0"), "paths must be a whole number of at least 1, found 0"),
        (("reproduce", "figure1", "--out", "/dev/null"), "/dev/null"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = run(*arguments)

    assert code == 2
    assert out == ""
    assert told in err
    assert "Traceback" not in err
    assert not list(tmp_path.rglob("*.parquet"))


# -- simulate ------------------------------------------------------------------------------------------------


def test_the_example_study_runs(run: Run) -> None:
    code, out, _ = run("simulate", str(EXAMPLE), "--paths", "3", "--jobs", "1", "--json")

    document = json.loads(out)
    assert code == 0
    assert document["files"] == ["results/study/study.png", "results/study/study.csv"]
    assert [row["policy"] for row in document["table"]] == ["DTRB(5, 0.5)", "0.1-Greedy", "Greedy"]
    assert document["claims"] == []


def test_a_single_path_has_no_interval_and_json_says_null(run: Run) -> None:
    _, out, _ = run("simulate", str(EXAMPLE), "--paths", "1", "--jobs", "1", "--json")

    assert json.loads(out)["table"][0]["low"] is None


def test_more_paths_extend_the_folder_and_fewer_leave_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    policies = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "Greedy": dtr.Greedy()}

    for paths in ("3", "5", "2"):
        assert run("simulate", "small.toml", "--paths", paths, "--jobs", "1")[0] == 0

    assert dtr.load_study("results/small") == dtr.simulate(Synthetic(), policies, horizon=60, paths=5)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("horizon = 60", "horizon = 61", "horizon"),
        ("paths = 3", "paths = 3\nseed = 1", "seed"),
        ("q = 2", "q = 3", "policies, DTRB, 'DTRBandit', q"),
    ],
)
def test_a_folder_with_another_study_is_refused_and_unchanged(
    run: Run, tmp_path: Path, old: str, new: str, differs: str
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    run("simulate", "small.toml", "--out", "mine", "--jobs", "1")
    before = contents(tmp_path / "mine")
    (tmp_path / "small.toml").write_text(SMALL.replace(old, new))

    code, _, err = run("simulate", "small.toml", "--out", "mine", "--jobs", "1")

    assert code == 2
    assert f"error: mine holds another study: {differs} is" in err
    assert contents(tmp_path / "mine") == before


# -- Ctrl-C --------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_ctrl_c_saves_finished_paths_and_a_later_command_goes_on(tmp_path: Path) -> None:
    """The signal goes to the whole group, as a terminal sends it, once the first paths are counted."""
    long = SMALL.replace("horizon = 60", "horizon = 3_000").replace("paths = 3", "paths = 2_000")
    (tmp_path / "long.toml").write_text(long)
    command = [sys.executable, "-m", "dtrbandit", "simulate", "long.toml", "--jobs", "2"]
    child = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a job in the background ignores
    )
    assert child.stderr is not None
    while "paths: " not in child.stderr.readline():
        assert child.poll() is None

    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=600)

    kept = dtr.load_study(tmp_path / "results/long")
    assert (child.returncode, out) == (130, "")
    said = (
        f"interrupted; saved: {counted(len(kept.paths), 'finished path')}; the same command goes on from what is saved:"
    )
    assert f"{said}\n  dtrbandit simulate long.toml --jobs 2\n" in err  # a worker may say something, too, as it dies
    assert 1 <= len(kept.paths) < 1_900
    wanted = max(kept.paths) + 3
    alone = [*command[:-1], "1", "--paths", str(wanted)]
    more = subprocess.run(alone, cwd=tmp_path, capture_output=True, text=True, check=True)
    missing = wanted - len(kept.paths)
    assert f"paths: {missing} of {missing}" in more.stderr
    whole = dtr.load_study(tmp_path / "results/long")
    policies = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "Greedy": dtr.Greedy()}
    assert whole.paths == tuple(range(wanted))
    assert whole.take(kept.paths) == kept
    assert whole.take([0, 1]) == dtr.simulate(Synthetic(), policies, horizon=3_000, paths=2)
