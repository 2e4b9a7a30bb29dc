"""What tells Python code from other code of the same name, for a log, which holds no code.

A function is known by a hash of its source, and by one of all that it uses: defaults, variables around it, globals,
and in turn what these lead to. An object is known by the methods of its class and by its attributes. Code of Python,
of installed packages and of this one counts by its name only: an upgrade of NumPy is not another trial.

Layout, comments, docstrings and annotations do not matter. A source is hashed by a walk over its syntax tree that
leaves out what is empty. So it gives the same in every version of Python, which ``ast.dump`` and bytecode do not.
"""

from __future__ import annotations

import ast
import copyreg
import hashlib
import inspect
import json
import linecache
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, EnumType
from functools import cached_property, lru_cache, partial
from pathlib import Path, PurePath
from pickle import PicklingError
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, TypedDict

import numpy as np

INSTALLED = {"site-packages", "dist-packages"}
OURS = {"dtrbandit", "joblib", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}  # with what we need
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
MADE_BY_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol", "__annotate__", "__annotate_func__"}
NOT_MEANT = {"ctx", "kind", "type_comment", "returns", "annotation", "type_params"}  # fields of syntax trees
NOT_KEPT = (TypeError, ValueError, AttributeError, RuntimeError, PicklingError)  # pickling a lock or a file raises one


def describe(function: object) -> str:
    """Return a function's name, for messages and logs."""
    return getattr(function, "__qualname__", type(function).__qualname__)


class Identity(TypedDict):
    """What a log holds of Python code: a hash of everything, and those of the sources of all functions it leads to."""

    values: str
    sources: list[str]


def identity(thing: object) -> Identity:
    """Return what identifies a function, or an object such as a policy, as plain values for a log.

    Examples
    --------
    >>> from functools import partial
    >>> identity(partial(max, 3)) == identity(partial(max, 3)), identity(partial(max, 3)) == identity(partial(max, 4))
    (True, False)
    """
    reader = _Reader(_home(thing))
    try:
        return {"values": reader.hash_of(thing), "sources": sorted(reader.sources)}
    except RecursionError:
        return {"values": f"{_name(thing)} is nested too deeply to tell", "sources": []}


class _Reader:
    """Reads a thing and all that it leads to, once. ``home`` is the package whose own code always counts."""

    def __init__(self, home: str) -> None:
        self.sources: set[str] = set()
        self._home = home
        self._hashes: dict[int, tuple[object, str]] = {}  # with what has each id, which must not be given to another

    def hash_of(self, value: object) -> str:
        """Return a text for a value: plain values themselves, and a hash of anything else."""
        if type(value) in PLAIN:
            return _text(value)
        if id(value) not in self._hashes:
            self._hashes[id(value)] = value, "itself"  # what is met again on the way
            self._hashes[id(value)] = value, digest(self._parts(value))
        return self._hashes[id(value)][1]

    def _parts(self, value: object) -> object:
        """Return what a value is known by, as plain values."""
        wrapped = inspect.getattr_static(value, "__wrapped__", None)
        if (module := _module_of_code(value)) is not None:
            if self._is_installed(module):  # what its decorators wrap is the caller's
                return _name(value) if wrapped is None else [module, self.hash_of(wrapped)]
            return self._class(value) if isinstance(value, type) else self._function(value)
        if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
            bound = getattr(value, "__self__", None)
            return [_name(value), self.hash_of(None if isinstance(bound, ModuleType) else bound)]
        if isinstance(value, partial):
            return ["partial", *map(self.hash_of, (value.func, value.args, value.keywords))]
        if isinstance(value, MethodType):
            return [value.__name__, self.hash_of(value.__self__)]
        if wrapped is not None:
            return [_name(type(value)), self.hash_of(wrapped)]
        return self._collection(value) or self._object(value)

    def _collection(self, value: object) -> object:
        kind = type(value)
        if isinstance(value, PurePath):
            return ["path", value.as_posix()]
        if isinstance(value, list | tuple) and kind in (list, tuple):
            return [kind.__name__, *map(self.hash_of, value)]
        if isinstance(value, set | frozenset) and kind in (set, frozenset):
            return ["set", *sorted(map(self.hash_of, value))]
        if isinstance(value, dict | MappingProxyType) and kind in (dict, MappingProxyType):
            return ["mapping", *sorted([self.hash_of(key), self.hash_of(each)] for key, each in value.items())]
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            array = np.asarray(value)
            return [array.dtype.str, list(array.shape), array.tobytes().hex()]
        return None

    def _function(self, function: Any) -> object:
        code, tree = function.__code__, source_of(function)
        if tree:
            source = digest([_canonical(node) for node in tree])
            names = {name for node in tree for name in _dotted(node)}
            self.sources.add(source)
        else:
            source, names = self.hash_of(_constants(code)), _global_names(code)
        used = {name for name in names & _global_names(code) & function.__globals__.keys() if not name.startswith("__")}
        uses = [self._global(name, function.__globals__[name], names) for name in sorted(used)]
        around = {name: self.hash_of(each) for name, each in _enclosed(function)}
        return [source, self.hash_of(function.__defaults__), self.hash_of(function.__kwdefaults__), around, uses]

    def _global(self, name: str, value: object, names: set[str]) -> object:
        """Return what a global is known by; of a module that the caller wrote, what the function uses."""
        within: list[object] = []
        if isinstance(value, ModuleType) and not self._is_installed(value.__name__):
            for dotted in sorted(each for each in names if each.startswith(f"{name}.")):
                inner, _, attribute = dotted.removeprefix(f"{name}.").partition(".")
                if inner in vars(value):
                    further = {f"{inner}.{attribute}"} if attribute else set()
                    within.append(self._global(inner, vars(value)[inner], further))
        return [name, self.hash_of(value), within]

    def _class(self, kind: type) -> object:
        if isinstance(kind, EnumType):
            members: Mapping[str, Enum] = kind.__members__
            return {name: self.hash_of(member.value) for name, member in members.items()}
        written: dict[str, str] = {}
        for each in reversed(kind.__mro__):
            if not self._is_installed(each.__module__):
                own = {name: value for name, value in vars(each).items() if is_written(each, name, value)}
                written |= {name: self.hash_of(_functions_of(value)) for name, value in own.items()}
        return written

    def _object(self, value: object) -> object:
        return [describe(type(value)).rpartition(".")[2], self.hash_of(type(value)), self.hash_of(state(value))]

    def _is_installed(self, module: str) -> bool:
        """Say whether a module belongs to Python, to an installed package or to us; those of ``home`` do not."""
        package = module.partition(".")[0]
        if package in sys.stdlib_module_names or package in OURS:
            return True
        file = getattr(sys.modules.get(module) or sys.modules.get(package), "__file__", None)
        return package != self._home and not INSTALLED.isdisjoint(Path(file or "").parts)


def digest(document: object) -> str:
    """Return a hash of plain values, the same in every process and version of Python."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:32]


def _home(thing: object) -> str:
    if isinstance(thing, partial):
        return _home(thing.func)
    return (_module_of_code(thing) or type(thing).__module__).partition(".")[0]


def _module_of_code(value: object) -> str | None:
    """Return the module of a function or class; None for anything else."""
    if isinstance(value, FunctionType):
        return str(value.__globals__.get("__name__"))
    compiled = type(value).__name__ == "cython_function_or_method"  # one of ours: as if it were plain
    return str(value.__module__) if compiled or isinstance(value, type) else None


def _name(thing: object) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    if isinstance(thing, np.ufunc):
        return f"numpy.{thing.__name__}"  # older releases of NumPy give it no other name
    return f"{getattr(thing, '__module__', None) or 'builtins'}.{describe(thing)}"


def _text(value: object) -> str:
    return hex(value) if isinstance(value, int) and abs(value) >= 2**63 else repr(value)  # repr has a limit of digits


# -- functions --------------------------------------------------------------------------------------------------


def source_of(function: FunctionType) -> list[ast.AST]:
    """Return a function's syntax tree; nothing where there is no source, as after ``exec``.

    It returns several lambdas only if Python kept no columns by which to choose one.
    """
    code = function.__code__
    if code.co_filename == "<string>":  # from Python 3.13 on, this may be the text behind -c
        return []
    linecache.checkcache(code.co_filename)
    try:
        functions = _functions("".join(linecache.getlines(code.co_filename, function.__globals__)))
    except (SyntaxError, ValueError, RecursionError):  # other text than was run, a NUL in it, or nested too deeply
        return []
    named = [
        node for node in functions.get(code.co_firstlineno, ()) if getattr(node, "name", "<lambda>") == code.co_name
    ]
    around = [node for node in named if isinstance(node, ast.Lambda) and _surrounds(node.body, code)]
    return [max(around, key=lambda node: (node.lineno, node.col_offset))] if around else named


@lru_cache(maxsize=4)
def _functions(text: str) -> dict[int, list[ast.AST]]:
    """Return the functions of a file, by first line, decorators included."""
    functions: dict[int, list[ast.AST]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            functions.setdefault(first, []).append(node)
    return functions


def _surrounds(body: ast.expr, code: CodeType) -> bool:
    """Say whether all that a lambda runs is written within ``body``."""
    first, last = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (a, c) != (b, d)]
    return bool(places) and all(first <= place[:2] and place[2:] <= last for place in places)


def _canonical(node: object) -> object:
    if isinstance(node, ast.Constant):
        return ["Constant", repr(node.value)]
    if isinstance(node, ast.AST):
        meant = {name: _meant(node, name, value) for name, value in ast.iter_fields(node) if name not in NOT_MEANT}
        kept = {name: _canonical(value) for name, value in meant.items()}
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


def _enclosed(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Give the variables that a function closes over, with their names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            if name != "__class__":  # of super(): the class of an object counts with the object
                yield name, cell.cell_contents
        except ValueError:  # nothing is there yet
            continue


def _global_names(code: CodeType) -> set[str]:
    """Return the names that the code, or a function within it, looks up beyond itself."""
    inner = (_global_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _constants(code: CodeType) -> list[object]:
    """Return what identifies a function without source, beside the values that it uses."""
    inner = (_constants(each) for each in code.co_consts if isinstance(each, CodeType))
    own = [each for each in code.co_consts if each is not None and not isinstance(each, CodeType)]
    return [code.co_name, own, *inner]


# -- objects and their classes ----------------------------------------------------------------------------------


def state(value: object) -> object:
    """Return what an object holds: the fields that a dataclass compares, else what pickling would keep."""
    if is_dataclass(value) and "__dataclass_fields__" in vars(type(value)):
        return {each.name: getattr(value, each.name, None) for each in fields(value) if each.compare}
    registered = copyreg.dispatch_table.get(type(value))
    try:
        reduced = registered(value) if registered else value.__reduce_ex__(4)
    except NOT_KEPT:
        return None
    if isinstance(reduced, str):
        return reduced
    kind = type(value)
    computed = {name for name in dir(kind) if isinstance(inspect.getattr_static(kind, name, None), cached_property)}
    made_by, arguments, *parts = reduced
    return [made_by, arguments, *(_held(part, computed) for part in parts if part is not None)]


def _held(part: object, computed: set[str]) -> object:
    """Return a part of what pickling keeps, without attributes that are computed from others."""
    if isinstance(part, dict):
        return {name: each for name, each in part.items() if name not in computed}
    if isinstance(part, tuple):  # attributes and slots
        return tuple(_held(each, computed) for each in part)
    return list(part) if isinstance(part, Iterator) else part


def is_written(kind: type, name: str, value: object) -> bool:
    """Say whether an attribute of a class was written there by hand.

    The default of a field does not count: its value counts with the object.
    """
    if name in MADE_BY_PYTHON or name in getattr(kind, "__dataclass_fields__", ()) or inspect.isdatadescriptor(value):
        return isinstance(value, property)
    if not name.startswith("__") or not name.endswith("__"):
        return True
    if not isinstance(value, FunctionType) or value.__code__.co_filename == "<string>":  # a dataclass makes those
        return False
    return value.__globals__.get("__name__") == kind.__module__


def _functions_of(value: object) -> object:
    """Return the functions behind an attribute of a class, or the attribute itself."""
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, cached_property):
        return value.func
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value
