"""Lines of code without blanks, comments and docstrings, `.py` and `.pxd`: `python benchmarks/lines.py [folder ...]`.

Without folders, those of the live half. It also names every file above 350 lines in all.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src/dtrbandit"
LIVE = (
    "record", "belief", "engine", "fast_path", "courses", "driver", "deciding", "summary", "storage", "trial",
    "service", "web", "client", "client_keys", "cli", "kernels",
)  # fmt: skip
MOST = 350
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(path: Path) -> int:
    """Return how many lines of a file hold code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".pxd":
        return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstrings(ast.parse(text)))


def _docstrings(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def files_of(part: str) -> list[Path]:
    """Return the files of a folder or module of the package."""
    place = SOURCE / part
    files = place.rglob("*.p*") if place.is_dir() else SOURCE.glob(f"{part}.p*")
    return sorted(path for path in files if path.suffix in (".py", ".pxd"))


def main() -> None:
    parts = sys.argv[1:] or LIVE
    total = 0
    for part in parts:
        files = files_of(part)
        lines = sum(map(code_lines, files))
        total += lines
        print(f"{part:<12} {len(files):>4} files {lines:>7,} lines")
    print(f"{'all':<12} {'':>10} {total:>7,} lines")
    for path in sorted(SOURCE.rglob("*.py")):
        if (length := len(path.read_text(encoding="utf-8").splitlines())) > MOST:
            print(f"{path.relative_to(SOURCE)}: {length} lines in all, more than {MOST}")


if __name__ == "__main__":
    main()
