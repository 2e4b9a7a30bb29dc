"""What tells Python code from other code of the same name: its source, what it closes over, and its parameters.

A function is known by its source, its defaults, the variables it closes over and the globals it names. An object is
known by the methods of its class and its attributes. What these name counts in the same way. Code of Python, of
installed packages and of this one counts by its name only: an upgrade of NumPy is not another trial.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from enum import Enum, EnumType
from functools import cached_property, partial
from pathlib import Path, PurePath
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TypeGuard

import numpy as np

from dtrbandit.design.attributes import is_written, state
from dtrbandit.design.source import constants, defaults, digest, enclosed, global_names, source_of
from dtrbandit.design.values import shown

INSTALLED = {"site-packages", "dist-packages"}
OURS = {"dtrbandit", "joblib", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}  # with what we need
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
LONGEST = 40  # characters of a value that is shown rather than hashed

Traits = dict[str, object]  # what a thing is known by, each under a name: shown, hashed, or traits again


def identity(thing: object) -> Traits:
    """Return what identifies a function, or an object such as a policy, as plain values for a log.

    Examples
    --------
    >>> from functools import partial
    >>> identity(partial(max, 3, key=len))["argument 1"], identity([1, 2]) == identity([1, 3])
    ('3', False)
    """
    try:
        return _Reader(_home(thing)).traits(thing)
    except RecursionError:
        return {"name": _name(thing), "source": "nested too deeply to tell"}


class _Reader:
    """Reads a thing and all that it leads to, once. ``home`` is the package whose own code always counts."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._words: dict[int, tuple[object, str]] = {}  # with what has each id, which must not be given to another

    def word(self, value: object) -> str:
        """Return a short text for a value: itself if it is short, else a hash."""
        if type(value) in PLAIN and len(text := _text(value)) <= LONGEST:
            return text
        if id(value) not in self._words:
            self._words[id(value)] = value, "itself"  # what is met again on the way
            self._words[id(value)] = value, digest(self.traits(value))
        return self._words[id(value)][1]

    def traits(self, value: object) -> Traits:
        """Return what a value is known by."""
        if isinstance(value, FunctionType):
            return self._known(value.__globals__.get("__name__"), value) or self._function(value)
        if isinstance(value, type):
            return self._known(value.__module__, value) or self._class(value)
        if _is_compiled_by_us(value):
            return {"name": _name(value)}
        if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
            bound = getattr(value, "__self__", None)
            return {"name": _name(value), "of": "" if isinstance(bound, ModuleType) else self.word(bound)}
        if isinstance(value, partial):
            return {"function": self._entry(value.func), **self._arguments(value)}
        if isinstance(value, MethodType):
            return {"method": value.__name__, "of": self.traits(value.__self__)}
        if (wrapped := inspect.getattr_static(value, "__wrapped__", None)) is not None:
            return {"wrapped": self._entry(wrapped), "by": _name(type(value))}
        return self._plain(value) or self._object(value)

    def _entry(self, value: object) -> str | Traits:
        """Return a function trait by trait, so that a message can say which differs, and anything else as a word."""
        if not isinstance(value, FunctionType) or id(value) in self._words:
            return self.word(value)
        self._words[id(value)] = value, "itself"
        traits = self.traits(value)
        self._words[id(value)] = value, digest(traits)
        return traits

    def _known(self, module: object, value: object) -> Traits | None:
        return {"name": _name(value)} if _is_installed(str(module), self._home) else None

    def _plain(self, value: object) -> Traits | None:
        kind = type(value)
        if kind in PLAIN:
            return {"value": _text(value)}
        if isinstance(value, PurePath):
            return {"path": value.as_posix()}
        if isinstance(value, list | tuple) and kind in (list, tuple):
            return {kind.__name__: [self.word(each) for each in value]}
        if isinstance(value, set | frozenset) and kind in (set, frozenset):
            return {"set": sorted(self.word(each) for each in value)}
        if isinstance(value, dict | MappingProxyType) and kind in (dict, MappingProxyType):
            return {"entries": sorted([self.word(key), self.word(each)] for key, each in value.items())}
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            array = np.asarray(value)
            return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": digest(array.tobytes().hex())}
        return None

    def _arguments(self, call: partial[object]) -> Traits:
        places = {f"argument {place}": self._entry(each) for place, each in enumerate(call.args, 1)}
        return {**places, **{f"argument {name}": self._entry(each) for name, each in call.keywords.items()}}

    # -- functions -------------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Traits:
        source, code = source_of(function), function.__code__
        found: Traits = {"source": source.digest} if source else {"constants": self.word(constants(code))}
        found |= {f"default of {name}": self._entry(value) for name, value in defaults(function)}
        found |= {f"enclosed {name}": self._entry(value) for name, value in enclosed(function)}
        used = {name for name in global_names(code) if name in function.__globals__ and not name.startswith("__")}
        for name in sorted(used & source.names if source else used):
            found |= self._global(name, function.__globals__[name], source.names if source else frozenset())
        return found

    def _global(self, name: str, value: object, names: frozenset[str]) -> Traits:
        """Return a global as a word; for a module that the caller wrote, also what the function uses of it."""
        found: Traits = {f"global {name}": self.word(value)}
        if isinstance(value, ModuleType) and not _is_installed(value.__name__, self._home):
            for dotted in sorted(each for each in names if each.startswith(f"{name}.")):
                inner, _, attribute = dotted.removeprefix(f"{name}.").partition(".")
                if inner in vars(value):
                    within = frozenset([f"{name}.{inner}.{attribute}"] if attribute else ())
                    found |= self._global(f"{name}.{inner}", vars(value)[inner], within)
        return found

    # -- classes and objects ---------------------------------------------------------------------------------

    def _class(self, kind: type) -> Traits:
        if isinstance(kind, EnumType):
            members: Mapping[str, Enum] = kind.__members__
            return {name: self.word(member.value) for name, member in members.items()}
        found: Traits = {}
        for each in reversed(kind.__mro__):
            if not _is_installed(each.__module__, self._home):
                for name, value in sorted(vars(each).items()):
                    if is_written(each, name, value):
                        found[name] = self._attribute(value)
        return found

    def _attribute(self, value: object) -> str | Traits:
        if isinstance(value, property):
            return {name: self._entry(getattr(value, name)) for name in ("fget", "fset", "fdel")}
        if isinstance(value, cached_property):
            return self._entry(value.func)
        return self._entry(value.__func__ if isinstance(value, staticmethod | classmethod) else value)

    def _object(self, value: object) -> Traits:
        held = {name: self._entry(each) for name, each in state(value).items()}
        return {"class": _name(type(value)).rpartition(".")[2], **self.traits(type(value)), **held}


def _is_installed(module: str, home: str) -> bool:
    """Say whether a module belongs to Python, to an installed package or to us; those of ``home`` do not."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package in OURS:
        return True
    file = getattr(sys.modules.get(module) or sys.modules.get(package), "__file__", None)
    return package != home and not INSTALLED.isdisjoint(Path(file or "").parts)


def _is_compiled_by_us(value: object) -> bool:
    """Say whether a value is a function of a compiled module of ours: it is known by its name, as if it were plain."""
    module = getattr(value, "__module__", None)
    return type(value).__name__ == "cython_function_or_method" and str(module).partition(".")[0] == "dtrbandit"


def _home(thing: object) -> str:
    if isinstance(thing, partial):
        return _home(thing.func)
    module = thing.__globals__.get("__name__") if isinstance(thing, FunctionType) else type(thing).__module__
    return str(module).partition(".")[0]


def _name(thing: object) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    if isinstance(thing, np.ufunc):
        return f"numpy.{thing.__name__}"  # older releases of NumPy give it no other name
    return f"{getattr(thing, '__module__', None) or 'builtins'}.{describe(thing)}"


def _text(value: object) -> str:
    return hex(value) if isinstance(value, int) and abs(value) >= 2**63 else repr(value)  # repr has a limit of digits


def describe(function: object) -> str:
    """Return a function's name, for messages and logs."""
    return getattr(function, "__qualname__", type(function).__qualname__)


# -- two descriptions ------------------------------------------------------------------------------------------


NOTHING = object()


def difference(there: object, here: object, place: str) -> str | None:
    """Say where two descriptions first differ and what each has there; None if they are equal.

    Examples
    --------
    >>> difference({"name": "Greedy"}, {"name": "DTRBandit", "q": 1}, "policy")
    "policy, name is 'Greedy' there and 'DTRBandit' here"
    >>> difference({"stage": [{"name": "first", "arms": ["a"]}]}, {"stage": [{"name": "first", "arms": []}]}, "design")
    "design, stage, 'first', arms is ['a'] there and [] here"
    """
    if there == here:
        return None
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        return _within(there, here, f"{place}{_called(there, here)}")
    if _is_list(there) and _is_list(here) and len(there) == len(here):
        found = (difference(a, b, place) for a, b in zip(there, here, strict=True))
        return next(each for each in found if each is not None)
    return f"{place} is {_found(there)} there and {_found(here)} here"


def _within(there: Mapping[object, object], here: Mapping[object, object], place: str) -> str:
    keys = dict.fromkeys([*there, *here])
    found = (
        difference(there.get(key, NOTHING), here.get(key, NOTHING), place if key == "identity" else f"{place}, {key}")
        for key in keys
    )
    return next(each for each in found if each is not None)


def _called(there: Mapping[object, object], here: Mapping[object, object]) -> str:
    """Return the name that both share: that of a stage, a policy or a function."""
    names = [there[key] for key in ("name", "function") if key in there and there[key] == here.get(key)]
    return "".join(f", {name!r}" for name in dict.fromkeys(map(str, names)))


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _found(value: object) -> str:
    return "missing" if value is NOTHING else shown(value)
