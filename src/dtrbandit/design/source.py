"""The source of a function, normalised, and the names that it uses.

Layout, comments, docstrings and annotations do not matter. The source is read by a walk over the syntax tree that
leaves out what is empty: it gives the same in every version of Python. The text of ``ast.dump`` changes between
versions, and so do tokens, since f-strings have some of their own. A code object only says where its source stands
and which of its names are global.
"""

from __future__ import annotations

import ast
import hashlib
import json
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import NamedTuple

IGNORED = {"ctx", "kind", "type_comment", "returns", "annotation", "type_params"}
Place = tuple[int, int]  # line and column


class Span(NamedTuple):
    """Where a function stands in a file, decorators included; for a lambda also where its body stands."""

    name: str
    start: Place
    stop: Place
    body: tuple[Place, Place] | None


class Source(NamedTuple):
    """A function as written: a digest, and the names in it; attributes count with their dots."""

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
    if name == "<string>":  # from Python 3.13 on, this may be the text behind -c
        return None
    linecache.checkcache(name)
    lines = linecache.getlines(name, function.__globals__)
    return _source("".join(lines), function.__code__) if lines else None


@lru_cache(maxsize=256)
def _source(text: str, code: CodeType) -> Source | None:
    try:
        nodes = [_node(text, span) for span in _written(_spans(text).get(code.co_firstlineno, ()), code)]
        names = (name for node in nodes for name in _dotted(node))
        return Source(digest([_canonical(node) for node in nodes]), frozenset(names)) if nodes else None
    except (SyntaxError, ValueError, RecursionError):  # other text than was run, a NUL in it, or nested too deeply
        return None


@lru_cache(maxsize=32)
def _spans(text: str) -> dict[int, list[Span]]:
    """Return where a file has functions, by first line. The syntax tree is too large to keep."""
    spans: dict[int, list[Span]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda):
            spans.setdefault(node.lineno, []).append(Span("<lambda>", *_ends(node), _ends(node.body)))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            spans.setdefault(first, []).append(Span(node.name, (first, 0), _ends(node)[1], None))
    return spans


def _ends(node: ast.expr | ast.stmt) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _written(spans: Sequence[Span], code: CodeType) -> list[Span]:
    """Return where the code was written.

    These are several lambdas only if Python kept no columns to tell them apart.
    """
    named = [span for span in spans if span.name == code.co_name]
    inside = [span for span in named if span.body is not None and _surrounds(span.body, code)]
    return [max(inside, key=lambda span: span.start)] if inside else named


def _surrounds(body: tuple[Place, Place], code: CodeType) -> bool:
    """Say whether all that a lambda runs is written within ``body``."""
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (a, c) != (b, d)]
    return bool(places) and all(body[0] <= place[:2] and place[2:] <= body[1] for place in places)


def _node(text: str, span: Span) -> ast.AST:
    """Return the syntax tree of a function alone."""
    (first, start), (last, stop) = span.start, span.stop
    lines = [line.encode() for line in text.split("\n")[first - 1 : last]]  # columns count bytes
    lines[-1] = lines[-1][:stop]
    lines[0] = lines[0][start:]
    written = b"\n".join(lines).decode()
    if span.body is not None:
        return ast.parse(f"({written})", mode="eval").body
    return ast.parse(f"if 1:\n{written}").body[0].body[0] if written[0] in " \t" else ast.parse(written).body[0]  # type: ignore[attr-defined]  # the if


def _canonical(node: object) -> object:
    if isinstance(node, ast.Constant):
        return ["Constant", repr(node.value)]
    if isinstance(node, ast.AST):
        fields = {name: _meant(node, name, value) for name, value in ast.iter_fields(node)}
        kept = {name: _canonical(value) for name, value in fields.items() if name not in IGNORED}
        return [type(node).__name__, {name: value for name, value in kept.items() if value not in (None, [])}]
    if isinstance(node, list):
        return [_canonical(each) for each in node]
    return node if node is None else repr(node)


def _meant(node: ast.AST, name: str, value: object) -> object:
    """Return a field of a node, without a docstring and without the empty text that Python 3.12 adds to formats."""
    if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.body[1:] if ast.get_docstring(node, clean=False) is not None else value
    if name == "values" and isinstance(node, ast.JoinedStr):
        return [each for each in node.values if not isinstance(each, ast.Constant) or each.value != ""]
    return value


def _dotted(node: ast.AST) -> Iterator[str]:
    """Give each name that occurs, and ``a.b.c`` where an attribute of a name is meant."""
    for each in ast.walk(node):
        attributes: list[str] = []
        while isinstance(each, ast.Attribute):
            attributes.insert(0, each.attr)
            each = each.value
        if isinstance(each, ast.Name):
            yield ".".join([each.id, *attributes])


# -- what a function uses ------------------------------------------------------------------------------------


def defaults(function: FunctionType) -> list[tuple[str, object]]:
    """Return the defaults of a function's arguments, with their names."""
    positional = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    return [
        *zip(positional[len(positional) - len(values) :], values, strict=True),
        *(function.__kwdefaults__ or {}).items(),
    ]


def enclosed(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Give the variables that a function closes over, with their names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            if name != "__class__":  # of super(): the class of an object counts with the object
                yield name, cell.cell_contents
        except ValueError:  # nothing is there yet
            continue


def global_names(code: CodeType) -> set[str]:
    """Return the names that the code, or a function within it, looks up beyond itself."""
    inner = (global_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def constants(code: CodeType) -> list[object]:
    """Return what can be told of a function without source, beside its name."""
    inner = (constants(each) for each in code.co_consts if isinstance(each, CodeType))
    own = [each for each in code.co_consts if each is not None and not isinstance(each, CodeType)]
    return [code.co_name, own, *inner]
