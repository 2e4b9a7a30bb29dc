"""What tells Python code from other code of the same name: its source, what it closes over, and its parameters.

A function is known by its source, its defaults, the variables it closes over and the globals it names; an object by the
methods of its class and its attributes. What these name in turn counts likewise, but for code of Python, of installed
packages and of this one, which counts by its name: an upgrade of NumPy is not another trial.
"""

from __future__ import annotations

import copyreg
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path, PurePath
from pickle import PicklingError
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType

import numpy as np

from dtrbandit.design.features import describe
from dtrbandit.design.source import digest, source_of

INSTALLED = {"site-packages", "dist-packages"}
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
LONGEST = 40  # characters of a value that is shown rather than hashed
MADE_BY_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol", "__annotate__", "__annotate_func__"}

Parts = dict[str, object]  # by name what a thing consists of: shown, hashed, or parts again


def identity(thing: object) -> Parts:
    """Return what identifies a function, or an object such as a policy, as plain values for a log.

    Examples
    --------
    >>> from functools import partial
    >>> identity(partial(max, 3, key=len))["argument 1"], identity([1, 2]) == identity([1, 3])
    ('3', False)
    """
    try:
        return _Reader(_home(thing)).parts(thing)
    except RecursionError:
        return {"name": _name(thing), "source": "nested too deeply to tell"}


class _Reader:
    """One reading of a thing and of all that it leads to; ``home`` is the package whose own code always counts."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._words: dict[int, tuple[object, str]] = {}  # with what has each id, which must not be given to another

    def word(self, value: object) -> str:
        """Return a short text for a value: itself if it is short, else a hash."""
        if type(value) in PLAIN and len(text := _text(value)) <= LONGEST:
            return text
        if id(value) not in self._words:
            self._words[id(value)] = value, "itself"  # what is met again on the way
            self._words[id(value)] = value, digest(self.parts(value))
        return self._words[id(value)][1]

    def parts(self, value: object) -> Parts:
        """Return the parts of a value."""
        if isinstance(value, FunctionType):
            return self._known(value.__globals__.get("__name__"), value) or self._function(value)
        if isinstance(value, type):
            return self._known(value.__module__, value) or self._class(value)
        if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
            bound = getattr(value, "__self__", None)
            return {"name": _name(value), "of": "" if isinstance(bound, ModuleType) else self.word(bound)}
        if isinstance(value, partial):
            return {"function": self._entry(value.func), **self._arguments(value)}
        if isinstance(value, MethodType):
            return {"method": value.__name__, "of": self.parts(value.__self__)}
        if (wrapped := inspect.getattr_static(value, "__wrapped__", None)) is not None:
            return {"wrapped": self._entry(wrapped), "by": _name(type(value))}
        return self._plain(value) or self._object(value)

    def _entry(self, value: object) -> str | Parts:
        """Return a function part by part, so that a message can say which differs, and anything else as a word."""
        if not isinstance(value, FunctionType) or id(value) in self._words:
            return self.word(value)
        self._words[id(value)] = value, "itself"
        parts = self.parts(value)
        self._words[id(value)] = value, digest(parts)
        return parts

    def _known(self, module: object, value: object) -> Parts | None:
        return {"name": _name(value)} if _is_installed(str(module), self._home) else None

    def _plain(self, value: object) -> Parts | None:
        kind = type(value)
        if kind in PLAIN:
            return {"value": _text(value)}
        if isinstance(value, PurePath):
            return {"path": value.as_posix()}
        if kind in (list, tuple):
            return {kind.__name__: [self.word(each) for each in value]}  # type: ignore[attr-defined]  # so it is
        if kind in (set, frozenset):
            return {"set": sorted(self.word(each) for each in value)}  # type: ignore[attr-defined]  # likewise
        if isinstance(value, dict | MappingProxyType) and kind in (dict, MappingProxyType):
            return {"entries": sorted([self.word(key), self.word(each)] for key, each in value.items())}
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            array = np.asarray(value)
            return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": digest(array.tobytes().hex())}
        return None

    def _arguments(self, call: partial[object]) -> Parts:
        places = {f"argument {place}": self._entry(each) for place, each in enumerate(call.args, 1)}
        return {**places, **{f"argument {name}": self._entry(each) for name, each in call.keywords.items()}}

    # -- functions -------------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Parts:
        source, code = source_of(function), function.__code__
        found: Parts = {"source": source.digest} if source else {"constants": self.word(_constants(code))}
        found |= {f"default of {name}": self._entry(value) for name, value in _defaults(function)}
        found |= {f"enclosed {name}": self._entry(value) for name, value in _enclosed(function)}
        used = _global_names(code) & function.__globals__.keys()
        for name in sorted(used & source.names if source else used):
            found |= self._global(name, function.__globals__[name], source.names if source else frozenset())
        return found

    def _global(self, name: str, value: object, names: frozenset[str]) -> Parts:
        """Return a global as a word; of a module of the caller's also what is used of it."""
        found: Parts = {f"global {name}": self.word(value)}
        if isinstance(value, ModuleType) and not _is_installed(value.__name__, self._home):
            for dotted in sorted(each for each in names if each.startswith(f"{name}.")):
                inner, _, attribute = dotted.removeprefix(f"{name}.").partition(".")
                if inner in vars(value):
                    within = frozenset([f"{name}.{inner}.{attribute}"] if attribute else ())
                    found |= self._global(f"{name}.{inner}", vars(value)[inner], within)
        return found

    # -- classes and objects ---------------------------------------------------------------------------------

    def _class(self, kind: type) -> Parts:
        found: Parts = {}
        for each in reversed(kind.__mro__):
            if not _is_installed(each.__module__, self._home):
                for name, value in sorted(vars(each).items()):
                    if _is_written(each, name, value):
                        found[name] = self._attribute(value)
        return found

    def _attribute(self, value: object) -> str | Parts:
        if isinstance(value, property):
            return {name: self._entry(getattr(value, name)) for name in ("fget", "fset", "fdel")}
        if isinstance(value, cached_property):
            return self._entry(value.func)
        return self._entry(value.__func__ if isinstance(value, staticmethod | classmethod) else value)

    def _object(self, value: object) -> Parts:
        state = {name: self._entry(each) for name, each in _state(value).items()}
        return {"class": _name(type(value)).rpartition(".")[2], **self.parts(type(value)), **state}


def _state(value: object) -> Mapping[str, object]:
    """Return what an object holds: the fields that a dataclass compares, else what pickling would keep."""
    if is_dataclass(value):
        return {each.name: getattr(value, each.name, None) for each in fields(value) if each.compare}
    try:
        made_by, arguments, *more = _reduced(value)
    except (TypeError, ValueError, AttributeError, RuntimeError, PicklingError):  # it cannot be kept: a lock, a file
        return {}
    state = more[0] if more else None
    if made_by is not copyreg.__newobj__ or arguments != (type(value),):  # type: ignore[attr-defined]  # undocumented
        return {"made by": made_by, "made from": arguments, "held": [_listed(each) for each in more]}
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    held = {**(attributes or {}), **(slots or {})} if isinstance(attributes, dict | None) else {"held": state}
    computed = {name for name in held if isinstance(inspect.getattr_static(type(value), name, None), cached_property)}
    return {str(name): each for name, each in held.items() if name not in computed}


def _reduced(value: object) -> tuple[object, ...]:
    reduced = value.__reduce_ex__(4)
    return (reduced, ()) if isinstance(reduced, str) else reduced


def _listed(value: object) -> object:
    return list(value) if isinstance(value, Iterator) else value


def _is_written(kind: type, name: str, value: object) -> bool:
    """Say whether an attribute of a class was written there by hand, and is more than the default of a field."""
    if name in MADE_BY_PYTHON or name in getattr(kind, "__dataclass_fields__", ()) or inspect.isdatadescriptor(value):
        return isinstance(value, property)
    if not name.startswith("__") or not name.endswith("__"):
        return True
    if not isinstance(value, FunctionType) or value.__code__.co_filename == "<string>":  # a dataclass makes those
        return False
    return value.__globals__.get("__name__") == kind.__module__


def _defaults(function: FunctionType) -> list[tuple[str, object]]:
    positional = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    return [*zip(positional[len(positional) - len(defaults) :], defaults, strict=True), *_keyword_defaults(function)]


def _keyword_defaults(function: FunctionType) -> list[tuple[str, object]]:
    return sorted((function.__kwdefaults__ or {}).items(), key=lambda pair: pair[0])


def _enclosed(function: FunctionType) -> Iterator[tuple[str, object]]:
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
    """Return what can be told of a function without source, beside its name."""
    inner = (_constants(each) for each in code.co_consts if isinstance(each, CodeType))
    own = [each for each in code.co_consts if each is not None and not isinstance(each, CodeType)]
    return [code.co_name, own, *inner]


def _is_installed(module: str, home: str) -> bool:
    """Say whether a module is Python's, an installed package's or ours; those of ``home`` are the caller's."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package == "dtrbandit":
        return True
    file = getattr(sys.modules.get(module) or sys.modules.get(package), "__file__", None)
    return package != home and not INSTALLED.isdisjoint(Path(file or "").parts)


def _home(thing: object) -> str:
    if isinstance(thing, partial):
        return _home(thing.func)
    module = thing.__globals__.get("__name__") if isinstance(thing, FunctionType) else type(thing).__module__
    return str(module).partition(".")[0]


def _name(thing: object) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    return f"{getattr(thing, '__module__', None) or 'builtins'}.{describe(thing)}"


def _text(value: object) -> str:
    return hex(value) if isinstance(value, int) and abs(value) >= 2**63 else repr(value)  # repr has a limit of digits
