"""What the doctor finds out before it loads a kernel, and how findings are printed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dtrbandit import build
from dtrbandit.cli.findings import GOOD, MISSING, NOTE, WRONG, Finding, broken_build, report
from installed import INSTALLED, wanted_state

STATE = "policies/state"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package as it is installed."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(INSTALLED, tmp_path / "dtrbandit", ignore=ignored))


def lose(package: Path, pattern: str) -> None:
    """Remove the one file of a package that has such a name."""
    (file,) = package.glob(pattern)
    file.unlink()


def doctor(package: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Let the doctor of a package look at itself."""
    begin = f"import sys; sys.path.insert(0, {str(package.parent)!r}); from dtrbandit.cli import app; app()"
    command = [sys.executable, "-c", begin, "doctor", "--storage", f"sqlite:///{package}/none.db", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=package.parent)


def test_a_package_that_is_whole_is_not_broken(copied: Path) -> None:
    assert broken_build(copied) == []


@pytest.mark.skipif(wanted_state() == build.PLAIN, reason="nothing is compiled here")
@pytest.mark.parametrize("lost", [STATE, "policies/uniform_random", "kernels/triangular"])
def test_a_compiled_module_that_is_lost_is_said_in_words(copied: Path, lost: str) -> None:
    lose(copied, f"{lost}.*.so")

    done = doctor(copied)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    name = f"dtrbandit.{lost.replace('/', '.')}"
    assert f"some are compiled and some are not: there is no compiled {name};" in done.stdout
    assert done.stdout.rstrip().endswith("install dtrbandit again")


@pytest.mark.parametrize("suffix", [".py", ".pxd"])
def test_a_source_that_is_lost_is_named_although_its_compiled_module_is_there(copied: Path, suffix: str) -> None:
    if not (copied / build.LIST).is_file():
        pytest.skip("this package was not built")
    (copied / STATE).with_suffix(suffix).unlink()

    (finding,) = broken_build(copied)

    assert finding.how == WRONG
    assert f"are missing: {STATE}{suffix};" in finding.found


def test_without_a_list_of_a_build_the_files_that_are_there_count(copied: Path) -> None:
    (copied / build.LIST).unlink(missing_ok=True)

    assert broken_build(copied) == []


@pytest.mark.parametrize(("how", "code"), [(GOOD, 0), (NOTE, 0), (MISSING, 2), (WRONG, 1)])
def test_findings_are_printed_and_the_worst_is_the_exit_code(
    how: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = [Finding("clock", GOOD, "it says noon"), Finding("disk", how, "so much")]

    assert report(findings, as_json=False) == code
    assert capsys.readouterr().out.splitlines()[0] == "✓ clock        it says noon"
    assert report(findings, as_json=True) == code
    assert json.loads(capsys.readouterr().out)["table"][1] == {"what": "disk", "how": how, "found": "so much"}
