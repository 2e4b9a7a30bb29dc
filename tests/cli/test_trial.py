"""The commands as they are typed; what they do is tried in tests/cli/test_live.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dtrbandit as dtr
from extras import needed

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"
Run = Callable[..., tuple[int, str, str]]


def test_a_trial_from_its_creation_to_its_end(run: Run, tmp_path: Path) -> None:
    assert run("trial", "create", str(EXAMPLE))[0] == 0
    assert run("trial", "lock", "depression", "--reason", "approved")[0] == 0
    assert run("trial", "list")[1].startswith("depression: live, 1 record")
    head = run("trial", "head", "depression")[1].strip()
    assert run("trial", "verify", "depression", "--against", head)[0] == 0
    assert run("trial", "backup", "copy.db")[0] == 0
    assert run("trial", "restore", "copy.db", "--storage", "sqlite:///other.db")[0] == 0
    with dtr.Trial.open("depression") as trial:
        trial.enroll("u1", {"qids_start1": 12.0})
        trial.respond("u1", {"qids_end1": 3.0})
        trial.complete("u1", -3.0)
    assert run("trial", "export", "depression", "units.jsonl", "--format", "jsonl")[0] == 0
    assert "seed" not in (tmp_path / "units.jsonl").read_text()
    assert run("trial", "end", "depression", "--reason", "complete")[0] == 0
    assert run("doctor")[0] == 0


def test_a_database_is_copied_to_an_empty_one(run: Run) -> None:
    run("trial", "create", str(EXAMPLE))

    assert run("trial", "copy", "--from", "sqlite:///trial.db", "--to", "sqlite:///other.db")[0] == 0
    code, _, told = run("trial", "copy", "--from", "sqlite:///trial.db", "--to", "sqlite:///other.db")
    assert (code, "a copy needs an empty store" in told) == (2, True)
    assert (
        run("trial", "head", "depression")[1]
        == run("trial", "head", "depression", "--storage", "sqlite:///other.db")[1]
    )


def test_a_file_needs_no_migration_and_no_workers(run: Run) -> None:
    run("trial", "create", str(EXAMPLE))

    code, _, told = run("trial", "migrate", "before.db")
    assert (code, "when it is opened" in told) == (2, True)
    needed("uvicorn")
    code, _, told = run("serve", "--workers", "2")
    assert (code, "2 workers need PostgreSQL" in told) == (2, True)


def test_mistakes_have_exit_code_2_and_one_message(run: Run) -> None:
    for arguments in (
        ("trial", "list"),
        ("trial", "head", "nowhere"),
        ("trial", "create", "missing.toml"),
        ("trial", "list", "--storage", "mysql://x"),
        ("serve", "--host", "0.0.0.0"),
        ("trial", "keys", "create", "king", "x"),
    ):
        code, out, error = run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert "Traceback" not in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rehearse", "--storage", "sqlite:///mine.db"), "--rehearse does not go with --storage"),
        (("--rehearse", "--workers", "2"), "--rehearse does not go with --workers"),
        (("--pace", "5"), "--pace is for simulated patients"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    code, out, told = run("serve", *options)

    assert (code, out) == (2, "")
    assert message in told
    assert list(tmp_path.iterdir()) == []
