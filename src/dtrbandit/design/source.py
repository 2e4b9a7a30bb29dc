"""The source of a function, normalised: layout, comments, docstrings and annotations do not matter.

Not ``ast.dump``, whose text changes between versions of Python, and not tokens, which do since f-strings have some of
their own: a walk over the syntax tree that leaves out what is empty reads the same in all of them. A code object only
says where its source stands and which of the names in it are global.
"""

from __future__ import annotations

import ast
import hashlib
import json
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import NamedTuple

IGNORED = {"ctx", "kind", "type_comment", "returns", "annotation", "type_params"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Source(NamedTuple):
    """A function as it is written: a digest, and the names in it, those of attributes with their dots."""

    digest: str
    names: frozenset[str]


def digest(document: object) -> str:
    """Return a hash of plain values, the same in every process and version of Python."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:32]


def source_of(function: FunctionType) -> Source | None:
    """Return the source of a function; None where there is none, as after ``exec``.

    Examples
    --------
    >>> source_of(eval("lambda x: x")) is None
    True
    """
    name = function.__code__.co_filename
    linecache.checkcache(name)
    lines = linecache.getlines(name, function.__globals__)
    return _source("".join(lines), function.__code__) if lines else None


@lru_cache(maxsize=256)
def _source(text: str, code: CodeType) -> Source | None:
    try:
        nodes = _nodes(ast.parse(text), code)
        names = (name for node in nodes for name in _dotted(node))
        return Source(digest([_canonical(node) for node in nodes]), frozenset(names)) if nodes else None
    except (SyntaxError, ValueError, RecursionError):  # other text than was run, a NUL in it, or nested too deeply
        return None


def _nodes(tree: ast.AST, code: CodeType) -> list[ast.AST]:
    """Return where the code was written; more than one lambda only if Python kept no columns to tell them apart."""
    found = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS) and _fits(node, code)]
    inside = [node for node in found if isinstance(node, ast.Lambda) and _surrounds(node.body, code)]
    return [max(inside, key=lambda node: (node.lineno, node.col_offset))] if inside else [*found]


def _fits(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.name == code.co_name and code.co_firstlineno in (node.lineno, *(d.lineno for d in node.decorator_list))


def _surrounds(body: ast.expr, code: CodeType) -> bool:
    """Say whether all that a lambda runs is written within ``body``."""
    start, stop = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (a, c) != (b, d)]
    return bool(places) and all(start <= place[:2] and place[2:] <= stop for place in places)


def _canonical(node: object) -> object:
    if isinstance(node, ast.Constant):
        return ["Constant", repr(node.value)]
    if isinstance(node, ast.AST):
        fields = {name: _without_docstring(node, name, value) for name, value in ast.iter_fields(node)}
        kept = {name: _canonical(value) for name, value in fields.items() if name not in IGNORED}
        return [type(node).__name__, {name: value for name, value in kept.items() if value not in (None, [])}]
    if isinstance(node, list):
        return [_canonical(each) for each in node]
    return node if node is None else repr(node)


def _without_docstring(node: ast.AST, name: str, value: object) -> object:
    if name != "body" or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return value
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else value


def _dotted(node: ast.AST) -> Iterator[str]:
    """Give each name that occurs, and ``a.b.c`` where an attribute of a name is meant."""
    for each in ast.walk(node):
        path: list[str] = []
        while isinstance(each, ast.Attribute):
            path.insert(0, each.attr)
            each = each.value
        if isinstance(each, ast.Name):
            yield ".".join([each.id, *path])
