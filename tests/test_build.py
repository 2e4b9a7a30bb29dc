"""What was built is told from what it carries; a kernel that belongs to other sources is noticed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import installed
from dtrbandit import build
from dtrbandit.build import (
    CHECKED,
    COMPILED,
    LIST,
    PLAIN,
    STALE,
    built_from,
    digest_of,
    kernel_modules,
    list_of,
    listed,
    lost_files,
    plain_beside_compiled,
    state_of,
    states,
    types_of,
)
from dtrbandit.kernels.triangular import LeastSquares
from extras import needed
from installed import differences, fault_of, wanted_state

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src/dtrbandit"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the sources."""
    return Path(shutil.copytree(SOURCES, tmp_path / "dtrbandit", ignore=shutil.ignore_patterns("__pycache__", "*.so")))


def test_kernels_are_the_modules_with_a_pxd_beside_them() -> None:
    found = kernel_modules(SOURCES)

    assert found["dtrbandit.kernels.triangular"] == SOURCES / "kernels/triangular.py"
    assert "dtrbandit.kernels.constants" not in found
    assert all(source.is_file() and source.with_suffix(".pxd").is_file() for source in found.values())


def test_every_kernel_is_built_as_this_run_wants_it_from_these_sources() -> None:
    assert set(states(SOURCES).values()) == {wanted_state()}


@pytest.mark.parametrize("name", kernel_modules(SOURCES))
def test_every_kernel_carries_what_it_was_built_from(name: str) -> None:
    tree = ast.parse(kernel_modules(SOURCES)[name].read_text(encoding="utf-8"))

    assert "BUILT_FROM = c.BUILT_FROM" in map(ast.unparse, tree.body)
    assert bool(built_from(name)) == (wanted_state() != PLAIN)


@pytest.mark.parametrize(
    ("file", "seen"),
    [
        ("estimators/exact.py", True),
        ("estimators/exact.pxd", True),
        ("kernels/constants.pxd", True),
        ("estimators/levels.pxd", True),  # of the class that it inherits from
        ("estimators/labels.pxd", True),  # and of that one's
        ("kernels/triangular.pxd", True),  # and what that holds
        ("estimators/levels.py", False),
        ("estimators/optimistic.pxd", False),
    ],
)
def test_a_digest_sees_each_file_that_a_kernel_is_made_from(copied: Path, file: str, seen: bool) -> None:
    source = copied / "estimators/exact.py"
    before = digest_of(source, copied)
    (copied / file).write_text((copied / file).read_text(encoding="utf-8") + "# more\n", encoding="utf-8")

    assert before == digest_of(SOURCES / "estimators/exact.py", SOURCES)
    assert (digest_of(source, copied) != before) is seen


def test_the_types_that_a_kernel_rests_on_are_found_however_they_are_cimported(copied: Path) -> None:
    found = {str(path.relative_to(copied)) for path in types_of(copied / "policies/uniform_random.py", copied)}

    assert found == {
        "policies/uniform_random.pxd", "policies/state.pxd", "policies/decisions.pxd", "estimators/observed.pxd",
        "kernels/constants.pxd",
    }  # fmt: skip


def test_a_build_lists_what_it_has_made_and_what_is_lost_later_is_noticed(copied: Path) -> None:
    names = kernel_modules(copied)
    (copied / LIST).write_text(list_of(dict.fromkeys(names, "abc")), encoding="utf-8")
    for source in list(names.values())[1:]:
        source.with_suffix(EXTENSION_SUFFIXES[0]).touch()
    (copied / "policies/state.pxd").unlink()

    assert listed(copied) == sorted(names)
    assert lost_files(copied) == ["policies/state.pxd"]
    assert plain_beside_compiled(copied) == list(names)[:1]


def test_a_package_that_nobody_has_compiled_is_not_mixed(copied: Path) -> None:
    (copied / LIST).write_text(list_of(dict.fromkeys(kernel_modules(copied), "")), encoding="utf-8")

    assert (lost_files(copied), plain_beside_compiled(copied)) == ([], [])


def test_what_a_kernel_carries_tells_how_it_was_built() -> None:
    assert [state_of(carried, "abc") for carried in ("abc", "abc-checked", "", "abd", "abd-checked")] == [
        COMPILED,
        CHECKED,
        PLAIN,
        STALE,
        STALE,
    ]
    assert build.stale({"a": COMPILED, "b": STALE, "c": PLAIN}) == ["b"]


# -- what tests run on -------------------------------------------------------------------------------------------


def test_what_is_installed_is_what_the_sources_say() -> None:
    assert fault_of(installed.INSTALLED, SOURCES) == ""


def test_a_file_that_differs_is_missing_or_left_over_is_named_with_the_remedy(copied: Path) -> None:
    (copied / "rank.py").write_text("# other\n", encoding="utf-8")
    (copied / "words.py").unlink()
    (copied / "words").mkdir()
    (copied / "words" / "more.py").touch()
    (copied / "words" / "more.cpython-311.so").touch()

    assert differences(SOURCES, copied) == ["rank.py", "words.py", "words/more.py"]
    assert "is not that of" in (fault := fault_of(SOURCES, copied))
    assert "(rank.py, words.py, words/more.py): " in fault
    assert "make" in fault


def test_kernels_that_are_not_as_wanted_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DTRBANDIT_CHECK", raising=False)
    monkeypatch.setenv("DTRBANDIT_PLAIN", "0" if wanted_state() == PLAIN else "1")

    fault = fault_of(SOURCES, SOURCES)

    assert fault.startswith(f"kernels must be {wanted_state()}; dtrbandit.")
    assert fault.endswith("build")


def test_a_kernel_of_plain_python_loaded_over_the_compiled_one_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dtrbandit.kernels.triangular.BUILT_FROM", b"")

    assert states(SOURCES)["dtrbandit.kernels.triangular"] == PLAIN


# -- setup.py ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(wanted_state() == COMPILED, reason="indices are not checked in the build that people use")
def test_an_index_beyond_the_end_is_an_error_that_arrives() -> None:
    learner = LeastSquares(2, 3)

    for beyond in (learner.clear, learner.solve_carried):  # neither returns a value that could tell
        with pytest.raises(IndexError):
            beyond(2, 3)
    with pytest.raises(IndexError):
        learner.examine_rank(2, 3, False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A package with the name of ours that has one small kernel, and our ``setup.py``."""
    for name, text in SMALL.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copy(SOURCES / "build.py", tmp_path / "src/dtrbandit/build.py")
    shutil.copy(ROOT / "setup.py", tmp_path)
    return tmp_path


SMALL = {
    "pyproject.toml": '[project]\nname = "dtrbandit"\nversion = "1"\n',
    "src/dtrbandit/__init__.py": "",
    "src/dtrbandit/kernels/__init__.py": "",
    "src/dtrbandit/kernels/constants.py": 'BUILT_FROM = b""\n',
    "src/dtrbandit/kernels/constants.pxd": 'cdef extern from *:\n    const char* BUILT_FROM "DTR_BUILT_FROM"\n',
    "src/dtrbandit/kernels/small.py": (
        "from dtrbandit.kernels import constants as c\n\nBUILT_FROM = c.BUILT_FROM\n\n\n"
        "class Small:\n    def twice(self, x):\n        return 2.0 * x\n"
    ),
    "src/dtrbandit/kernels/small.pxd": (
        "cimport cython\nfrom dtrbandit.kernels cimport constants as c\n\n"
        "@cython.final\ncdef class Small:\n    cpdef double twice(self, double x) noexcept nogil\n"
    ),
}


def built(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build what is in a folder, with these variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("DTRBANDIT")}
    command = [sys.executable, "setup.py", "build"]
    return subprocess.run(command, cwd=folder, env={**own, **environment}, capture_output=True, text=True, check=False)


def test_without_a_compiler_there_is_one_remedy_and_no_traceback(small: Path) -> None:
    needed("setuptools")

    done = built(small, PATH=str(small))

    assert done.returncode != 0
    assert "dtrbandit needs a C compiler and the headers of Python" in done.stderr
    assert "DTRBANDIT_PLAIN=1 pip install ." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plain_build_needs_no_compiler_and_generates_nothing(small: Path) -> None:
    needed("setuptools")

    done = built(small, PATH=str(small), DTRBANDIT_PLAIN="1")

    assert done.returncode == 0, done.stderr
    assert list(small.rglob("*.c")) == []
    assert len(list(small.glob("build/*-plain/lib/dtrbandit/kernels/small.p*"))) == 1


@pytest.mark.slow
def test_a_build_follows_the_contents_of_files_and_leaves_nothing_among_the_sources(small: Path) -> None:
    for library in ("setuptools", "Cython"):
        needed(library)
    sources = sorted(small.joinpath("src").rglob("*"))
    assert (done := built(small)).returncode == 0, done.stderr
    (compiled,) = small.glob("build/*/lib*/dtrbandit/kernels/small.*.so")
    first = compiled.stat().st_mtime_ns

    (small / "src/dtrbandit/kernels/small.py").touch()
    built(small)
    touched = compiled.stat().st_mtime_ns
    changed = SMALL["src/dtrbandit/kernels/small.py"].replace("2.0", "3.0")
    (small / "src/dtrbandit/kernels/small.py").write_text(changed, encoding="utf-8")
    os.utime(small / "src/dtrbandit/kernels/small.py", (0, 0))  # as old as a file from an archive can be
    built(small)

    assert touched == first
    assert compiled.stat().st_mtime_ns > first
    assert (
        digest_of(small / "src/dtrbandit/kernels/small.py", small / "src/dtrbandit").encode() in compiled.read_bytes()
    )
    assert sorted(small.joinpath("src").rglob("*")) == sources
