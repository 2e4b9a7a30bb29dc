"""What a run leaves out is told, and a second run does just that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULES = {
    "test_first.py": (
        "import pytest\n\ndef test_plain():\n    pass\n\n@pytest.mark.full\ndef test_long():\n    pass\n"
    ),
    "test_second.py": "import pytest\n\npytest.importorskip('no_such_module.part')\n\ndef test_more():\n    pass\n",
    "test_fourth.py": "import pytest\n\npytest.importorskip('no_such_module.part')\n\ndef test_most():\n    pass\n",
    "test_third.py": (
        "import pytest\nfrom hypothesis import given, strategies as st\n\n"
        "@given(st.booleans())\ndef test_any(value):\n    pass\n\n"
        "def test_here():\n    pytest.importorskip('no_other_module')\n"
    ),
}
HERE = Path(__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def ran(folder: Path, *options: str, profile: str = "quick") -> str:
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "skipped", "-v", "--rootdir", str(folder), *options]
    environment = {"PYTHONPATH": str(HERE), "HYPOTHESIS_PROFILE": profile}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_what_is_missing_is_said_in_one_line_with_how_to_have_it(folder: Path) -> None:
    said = ran(folder).splitlines()

    told = "Skipped, since it is not installed: what needs no_other_module, no_such_module. "
    assert f"{told}`make test-all` installs it and runs everything, with more examples." in said


def test_a_second_run_does_what_was_skipped_and_what_can_be_enlarged(folder: Path) -> None:
    ran(folder)
    (folder / "no_other_module.py").touch()
    (folder / "no_such_module").mkdir()
    (folder / "no_such_module" / "part.py").touch()

    said = ran(folder, "--beside", profile="full")

    assert "5 passed" in said
    assert "test_plain" not in said


def test_what_needs_full_effort_waits_for_it(folder: Path) -> None:
    assert "2 passed" in ran(folder)
    assert "3 passed" in ran(folder, profile="full")


def test_there_must_be_a_run_before(folder: Path) -> None:
    assert "--beside needs a run before it" in ran(folder, "--beside")
