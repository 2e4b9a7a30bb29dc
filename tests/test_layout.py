"""Where a test is: that of ``src/dtrbandit/a/b.py`` is ``tests/a/test_b.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src/dtrbandit", ROOT / "tests"
FRONT_DOORS = {"__init__.py", "__main__.py", "_version.py"}  # tests/test_package.py looks at these
MODULES = sorted(file.relative_to(SOURCE) for file in SOURCE.rglob("*.py") if file.name not in FRONT_DOORS)
PACKAGES = {file.parent.relative_to(SOURCE).with_suffix(".py") for file in SOURCE.glob("*/**/__init__.py")}
ACROSS = {"contracts", "examples", "facts", "paper", "plain"}  # folders of tests that ask many modules at once
WHOLE = {
    "bad_input", "bad_values", "browser", "clusters", "compiled_against_plain", "deployment", "digests", "docs",
    "docstrings", "fixtures", "kernels_source", "layout", "package", "postgres_faults", "same_bits", "session_machine",
    "skipped", "trial_faults", "trial_machine",
}  # fmt: skip  # and files that do


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_own_tests(module: Path) -> None:
    tests = TESTS / module.with_name(f"test_{module.name}")

    assert tests.is_file(), f"{module} has no {tests.relative_to(ROOT)}"
    assert "def test_" in tests.read_text(encoding="utf-8")


def test_every_file_of_tests_is_where_its_module_says() -> None:
    files = [file.relative_to(TESTS) for file in TESTS.rglob("test_*.py")]
    modules = {file: file.with_name(file.name.removeprefix("test_")) for file in files if file.parts[0] not in ACROSS}

    lost = [str(file) for file, module in modules.items() if module not in {*MODULES, *PACKAGES}]

    assert [file for file in lost if Path(file).stem.removeprefix("test_") not in WHOLE] == []
