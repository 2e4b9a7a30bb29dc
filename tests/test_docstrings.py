"""Examples in docstrings: they run on what is installed, compiled modules too."""

from __future__ import annotations

import ast
import doctest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dtrbandit
from extras import needed

FOLDERS = (Path(dtrbandit.__file__).parent, Path(__file__).parent / "plain")
EXTRAS = {
    "dtrbandit.environments.gymnasium": ("gymnasium",),
    "dtrbandit.service": ("starlette", "httptools", "jinja2", "uvicorn"),
    "dtrbandit.storage.postgres": ("psycopg",),
    "dtrbandit.web": ("starlette", "httptools", "jinja2", "uvicorn"),
}


def with_examples(folder: Path) -> dict[str, Path]:
    """Return the files below a folder that hold examples, by the names of their modules."""
    files = [file for file in sorted(folder.rglob("*.py")) if ">>> " in file.read_text(encoding="utf-8")]
    parts = [file.relative_to(folder.parent).with_suffix("").parts for file in files]
    return {".".join(names).removesuffix(".__init__"): file for names, file in zip(parts, files, strict=True)}


FILES = {name: file for folder in FOLDERS for name, file in with_examples(folder).items()}


def examples_in(file: Path) -> list[str]:
    """Return the first line of each docstring that holds an example, as the source has them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    return sorted(text.partition("\n")[0] for text in texts if ">>> " in text)


@pytest.mark.skipif(np.__version__ < "2", reason="examples show numbers as NumPy 2 does")
@pytest.mark.parametrize("name", FILES)
def test_examples_lead_to_what_they_say(name: str) -> None:
    for start, libraries in EXTRAS.items():
        if name.startswith(start):
            for library in libraries:
                needed(library)
    module = import_module(name)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)

    tests = [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
    for test in tests:
        runner.run(test)

    assert runner.summarize(verbose=False).failed == 0
    assert sorted((test.docstring or "").strip().partition("\n")[0] for test in tests) == examples_in(FILES[name])
