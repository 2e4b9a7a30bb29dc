"""What the documents claim is there and works."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


NAMING = ["docs/readings.md", "docs/paper_to_code.md", "docs/architecture.md", "CONTRIBUTING.md"]


@pytest.mark.parametrize("name", NAMING)
def test_every_file_and_test_that_is_named_exists(name: str) -> None:
    named = re.findall(
        r"`((?:tests|examples|cli|kernels|design|record|estimators|policies|environments|simulation|evaluation|datasets|reproduce|theory)/[\w/.]+)(?:::(\w+))?`",
        (ROOT / name).read_text(),
    )

    assert len(named) > 10
    for path, test in named:
        if "my_" in path or path == "tests/a/test_b.py":  # what a reader will write, an example
            continue
        file = ROOT / path if path.startswith(("tests", "examples")) else ROOT / "src/dtrbandit" / path
        assert file.exists() or file.with_suffix(".py").exists(), path
        assert not test or f"def {test}(" in file.read_text(), test


def test_every_settled_reading_has_a_test() -> None:
    paragraphs = re.split(r"^(?=\d+\. )", (ROOT / "docs/readings.md").read_text(), flags=re.MULTILINE)[1:]

    assert [int(paragraph.split(".")[0]) for paragraph in paragraphs] == list(range(1, 18))
    assert all("`tests/" in paragraph for paragraph in paragraphs)


def test_the_lines_on_sessions_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a log is written
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/sessions.md").read_text(), flags=re.DOTALL)

    assert len(blocks) == 5
    exec(compile("\n".join(blocks), "docs/sessions.md", "exec"), {})


def test_the_lines_on_live_trials_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dtrbandit.cli.trial import create

    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/live-trial.md").read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    create(ROOT / "examples/trial.toml", "sqlite:///trial.db", "tester")

    first, over_http, of_analysis = blocks  # the second needs a service: tests/test_client.py
    names: dict[str, Any] = {}
    for block in (first, of_analysis):
        exec(compile(block, "docs/live-trial.md", "exec"), names)

    assert "Client" in over_http
    assert len(names["cohort"]) == 1


def test_what_the_page_on_storage_says_of_workers_has_a_test_each() -> None:
    lines = re.findall(r"^\| .* \| `(test_\w+)` \|$", (ROOT / "docs/storage.md").read_text(), flags=re.MULTILINE)
    tests = "".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))

    assert len(lines) == 13
    assert [name for name in lines if f"def {name}(" not in tests] == []


def test_what_the_page_on_live_trials_says_of_roles_and_statuses_is_true() -> None:
    from dtrbandit.service.problems import KINDS

    page = (ROOT / "docs/live-trial.md").read_text()
    statuses = {kind.status for kind in KINDS.values()} - {405, 500}

    assert {
        int(found)
        for row in re.findall(r"^\| ((?:\d{3},? ?)+)\|", page, flags=re.MULTILINE)
        for found in row.split(",")
    } == statuses


def test_the_story_of_the_guardrails_is_true() -> None:
    """Told from start to end: what the page says that each line prints, it prints."""
    blocks = re.findall(r"```pycon\n(.*?)```", (ROOT / "docs/guardrails.md").read_text(), flags=re.DOTALL)
    story = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "the story", "docs/guardrails.md", 0)

    found = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(story)

    assert len(blocks) == 9
    assert found.attempted > 25
    assert found.failed == 0


def test_the_readmes_lines_run_and_print_what_it_shows() -> None:
    readme = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(import.*?)```", readme, flags=re.DOTALL)
    shown = re.search(r"```\n(Unit u1.*?)```", readme, flags=re.DOTALL)
    assert code
    assert shown

    names: dict[str, Any] = {}
    exec(compile(code.group(1), "README.md", "exec"), names)

    assert f"{names['decision']}\n" == shown.group(1)
    assert f'decision.arm is "{names["decision"].arm}"' in code.group(1)
    assert len([line for line in code.group(1).splitlines() if line.strip()]) == 8
