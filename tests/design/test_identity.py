"""What identifies Python code: other content under the same name is noticed, another layout is not."""

from __future__ import annotations

import ast
import copyreg
import json
import linecache
import logging
import re
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial, wraps
from itertools import count
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np
import pytest

from dtrbandit.design.identity import digest, identity, is_written, source_of, state

numbers = count()


@pytest.fixture(autouse=True)
def no_written_module_stays() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("written_")]:
        del sys.modules[name]
        linecache.cache.pop(f"<{name}>", None)


def written(text: str) -> Any:
    """Return a module with this text, whose source is known as that of a notebook's cell is."""
    module = ModuleType(f"written_{next(numbers)}")
    name = f"<{module.__name__}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), vars(module))
    return module


def different(one: Mapping[str, object], other: Mapping[str, object]) -> set[str]:
    """Return which of the two hashes differ."""
    assert one.keys() == other.keys() == {"values", "sources"}
    return {key for key in one if one[key] != other[key]}


BASIS = """
import numpy as np
CUT = 3.5
POWER = 2
SCALE = 1
UNUSED = 1
def helper(x):
    return x > CUT
def basis(c, scale=SCALE, *, shift=0.5):
    UNUSED = [helper(x) for x in c["x"]]
    return np.stack([UNUSED, scale * c["x"] ** POWER + shift], axis=1)
"""


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = written("SCALE = 2\ndef twice(x): return SCALE * x\n")
    monkeypatch.setitem(sys.modules, "helpers", module)
    return module  # type: ignore[no-any-return]  # as written


@pytest.mark.parametrize(
    ("parts", "old", "new"),
    [
        ({"values"}, "POWER = 2", "POWER = 3"),
        ({"values", "sources"}, "return x >", "return x >="),
        ({"values"}, "CUT = 3.5", "CUT = 3.6"),
        ({"values"}, "import numpy as np", "import math as np"),
        ({"values"}, "SCALE = 1", "SCALE = 2"),
        ({"values", "sources"}, "shift=0.5", "shift=0.25"),
        ({"values", "sources"}, "axis=1", "axis=-1"),
        (set(), "UNUSED = 1", "UNUSED = 2"),
    ],
)
def test_another_source_or_another_value_is_noticed(parts: set[str], old: str, new: str) -> None:
    assert different(identity(written(BASIS).basis), identity(written(BASIS.replace(old, new)).basis)) == parts


def test_layout_comments_docstrings_and_annotations_do_not_matter() -> None:
    one = written("def f(x, y=1):\n    return [x, f'{x:>{y}}', (y)]\n").f
    other = written(
        "\n\nif True:\n        def f(x: int, y: float = 1) -> list:\n            '''What it is.'''\n"
        "            # why\n            return [\n                x,\n                f'{x:>{y}}', y,\n            ]\n"
    ).f

    assert identity(one) == identity(other)


def test_text_within_strings_matters_to_the_last_space() -> None:
    one, other = (
        written("if 1:\n  def f():\n    return '''a\n b'''\n"),
        written("if 1:\n  def f():\n    return '''a\nb'''\n"),
    )

    assert identity(one.f) != identity(other.f)


def test_what_a_function_closes_over_counts() -> None:
    make = written("def make(cut):\n  def rule(h): return 'a' if h > cut else 'b'\n  return rule\n").make

    assert identity(make(1.0)) == identity(make(1.0))
    assert different(identity(make(1.0)), identity(make(2.0))) == {"values"}
    assert identity(make(np.arange(3.0))) == identity(make(np.arange(3.0)))
    assert identity(make(np.arange(3.0))) != identity(make(np.array([0.0, 1.0, 2.5])))
    assert identity(make({"a": [1, {2, 3}]})) == identity(make({"a": [1, {3, 2}]}))
    assert identity(make({"a": [1, {2, 3}]})) != identity(make({"a": [1, {2, 4}]}))


def test_lambdas_on_one_line_are_told_apart() -> None:
    first, second, inner = written(
        "fs = [lambda x: x + 1, lambda x: (x if x else 2), (lambda: lambda x: x + 1)()]\n"
    ).fs

    assert identity(first) != identity(second)
    assert identity(first) == identity(inner)


def test_of_ones_own_modules_what_is_used_counts_and_nothing_else(helpers: ModuleType) -> None:
    user = written("import helpers\ndef f(x): return helpers.twice(x)\n").f
    before = identity(user)

    vars(helpers)["unused"] = 1
    assert identity(user) == before
    vars(helpers)["SCALE"] = 3
    assert different(identity(user), before) == {"values"}


def test_code_of_installed_packages_counts_by_its_name() -> None:
    user = written("from numpy import stack, sum, add\nfrom json import dumps\ndef f(x): return stack, add, dumps\n").f

    other = written(
        "from numpy import stack, subtract as add\nfrom json import dumps\ndef f(x): return stack, add, dumps\n"
    ).f

    assert len(identity(user)["sources"]) == 1  # the function's own alone
    assert different(identity(user), identity(other)) == {"values"}


def test_functions_of_this_package_count_by_their_names_compiled_or_not() -> None:
    user = written(
        "from dtrbandit.policies.policy import feasible_arms\n"
        "from dtrbandit.design.schedule import forced_plan, place\n"
        "def f(x): return feasible_arms, place, forced_plan\n"
    )

    named = {
        user.feasible_arms: "dtrbandit.policies.policy.feasible_arms",
        user.place: "dtrbandit.design.schedule.place",
        user.forced_plan: "dtrbandit.design.schedule.forced_plan",
    }

    for function, name in named.items():
        assert identity(function) == {"values": digest(name), "sources": []}
    assert len(identity(user.f)["sources"]) == 1  # the function's own alone


def test_a_function_within_a_decorator_of_an_installed_package_counts() -> None:
    text = "from contextlib import contextmanager\n@contextmanager\ndef f(x): yield x + 1\ndef g(x): return f\n"
    one, same, other = written(text), written(text), written(text.replace("+ 1", "+ 2"))

    for name in ("f", "g"):
        assert identity(getattr(one, name)) == identity(getattr(same, name))
        assert different(identity(getattr(one, name)), identity(getattr(other, name))) == {"values", "sources"}


def test_functions_that_name_themselves_or_each_other_come_to_an_end() -> None:
    text = "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\n"

    assert identity(written(text).even) == identity(written(text).even)
    assert identity(written(text).even) != identity(written(text.replace("!= 0", "> 0")).even)


def test_a_thing_that_holds_itself_comes_to_an_end() -> None:
    ring: list[object] = [1]
    ring.append(ring)
    nested: list[object] = []
    for _ in range(10_000):
        nested = [nested]

    assert identity(partial(max, ring)) == identity(partial(max, ring))
    assert identity(partial(max, nested)) == {"values": "functools.partial is nested too deeply to tell", "sources": []}


def test_a_function_without_source_is_known_by_its_constants_and_what_it_names() -> None:
    def executed(text: str, **names: object) -> Callable[..., object]:
        exec(text, names)
        return names["f"]  # type: ignore[return-value]  # so it is

    one = executed("def f(x, y=1):\n    return [z + 2.5 for z in x], CUT", CUT=3)

    assert identity(one) == identity(executed("def f(x, y=1):\n    return [z + 2.5 for z in x], CUT", CUT=3))
    assert identity(one) != identity(executed("def f(x, y=1):\n    return [z + 3.5 for z in x], CUT", CUT=3))
    assert identity(one) != identity(executed("def f(x, y=1):\n    return [z + 2.5 for z in x], CUT", CUT=4))
    assert identity(one) != identity(executed("def f(x, y=2):\n    return [z + 2.5 for z in x], CUT", CUT=3))


class Regime:
    """A rule with a parameter."""

    __slots__ = ("cut",)

    def __init__(self, cut: float) -> None:
        self.cut = cut

    def __call__(self, x: float) -> str:
        return "a" if x > self.cut else "b"

    def choose(self, x: float) -> str:
        return self(x)


def rule(x: float, cut: float = 1.0) -> str:
    return "a" if x > cut else "b"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (partial(rule, cut=1.0), partial(rule, cut=2.0)),
        (partial(rule, 1.0), partial(max, 1.0)),
        (Regime(1.0), Regime(2.0)),
        (Regime(1.0).choose, Regime(2.0).choose),
        (Regime(1.0).choose, Regime(1.0).__call__),
        (lru_cache(rule), lru_cache(Regime.choose)),
        ({"a": 1}.get, {"a": 2}.get),
        (np.add, np.subtract),
        (np.polynomial.Polynomial([1, 2]), np.polynomial.Polynomial([1, 3])),
        (re.compile("a"), re.compile("b")),
        (Fraction(1, 2), Fraction(1, 3)),
        ([10**6000], [10**6000 + 1]),
        (np.float32(1), np.float64(1)),
        (np.array([{"a": 1}], dtype=object), np.array([{"a": 2}], dtype=object)),
    ],
)
def test_any_callable_and_any_value_can_be_told_from_another(one: object, other: object) -> None:
    assert identity(one) == identity(one)
    assert identity(one) != identity(other)
    assert json.loads(json.dumps(identity(one))) == identity(one)


class Odd:
    """An object that knows no attribute."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    "thing", [threading.Lock(), logging.getLogger("x"), iter([1]), open, object(), sys, Odd()], ids=type
)
def test_what_cannot_be_described_does_no_harm(thing: object) -> None:
    assert identity(partial(print, thing)) == identity(partial(print, thing))


@dataclass
class Mine:
    """A policy with parameters, one of which is only a cache."""

    epsilon: float = 0.1
    cache: list[int] = field(default_factory=list, compare=False)

    def decide(self) -> float:
        return self.epsilon


class Plain:
    """Another, which computes something from its parameters once."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    @cached_property
    def twice(self) -> float:
        return 2 * self.epsilon


def test_an_object_is_known_by_its_parameters() -> None:
    for kind in (Mine, Plain, Regime):
        assert different(identity(kind(0.1)), identity(kind(0.1))) == set()
        assert different(identity(kind(0.1)), identity(kind(0.2))) == {"values"}


def test_what_is_computed_from_parameters_or_not_compared_does_not_count() -> None:
    plain, before = Plain(0.1), identity(Plain(0.1))
    assert plain.twice == 0.2

    assert identity(plain) == before
    assert identity(Mine(0.1, cache=[1])) == identity(Mine(0.1))


CLASS = """
from dataclasses import dataclass
LIMIT = 3
class Base:
    def size(self): return 1
@dataclass(frozen=True)
class Mine(Base):
    epsilon: float = 0.1
    unit = 1
    def decide(self, u): return u < self.epsilon * LIMIT
    @property
    def share(self): return 0.5
    @staticmethod
    def start(): return 0
"""


@pytest.mark.parametrize(
    ("parts", "old", "new"),
    [
        ({"values", "sources"}, "u <", "u <="),
        ({"values"}, "LIMIT = 3", "LIMIT = 4"),
        ({"values", "sources"}, "return 0.5", "return 0.6"),
        ({"values", "sources"}, "return 0\n", "return 1\n"),
        ({"values", "sources"}, "return 1", "return 2"),
        ({"values"}, "unit = 1", "unit = 2"),
    ],
)
def test_another_method_is_another_policy(parts: set[str], old: str, new: str) -> None:
    assert different(identity(written(CLASS).Mine()), identity(written(CLASS.replace(old, new)).Mine())) == parts


def test_another_default_does_not_matter_where_the_parameter_is_the_same() -> None:
    one, other = written(CLASS).Mine(0.3), written(CLASS.replace("= 0.1", "= 0.2")).Mine(0.3)

    assert identity(one) == identity(other)


def test_attributes_beyond_those_of_an_inherited_dataclass_count() -> None:
    inherited = written("import design.test_identity as base\nclass Mine(base.Mine):\n    pass\n").Mine
    one, other = inherited(0.1), inherited(0.1)
    one.limit, other.limit = 1, 2

    assert different(identity(one), identity(other)) == {"values"}


def test_members_of_an_enumeration_count_and_where_a_file_lies_does_not() -> None:
    text = "from enum import Enum\nclass Arm(Enum):\n    A = 1\n    B = 2\ndef f(x): return Arm.A, __name__\n"

    assert identity(written(text).f) == identity(written(text).f)
    assert identity(written(text).f) != identity(written(text.replace("B = 2", "B = 3")).f)
    assert identity(written(text).Arm.A) != identity(written(text).Arm.B)


def test_another_process_agrees_to_the_letter() -> None:
    """And so does every version of Python: the digest in the last line was found with 3.11, 3.12 and 3.13."""
    code = (
        "import json; from design.test_identity import rule, Regime, Mine, Plain; from functools import partial;"
        "from dtrbandit.design.identity import identity;"
        "print(json.dumps([identity(x) for x in (rule, partial(rule, cut={'a', 'b'}), Regime(1), Mine(2), Plain(3))]))"
    )
    here = [identity(x) for x in (rule, partial(rule, cut={"a", "b"}), Regime(1), Mine(2), Plain(3))]  # type: ignore[arg-type]

    for seed in ("1", "2"):
        paths = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed}
        printed = subprocess.run([sys.executable, "-c", code], env=paths, capture_output=True, check=True, text=True)
        assert json.loads(printed.stdout) == here
    assert identity(written("def f(x): return f'{x:>{3}}', x + 1\n").f) == {
        "values": "e987c8bc40d67ee5dd513b62450a25fe",  # pragma: allowlist secret
        "sources": ["acea149933237e281e1a8ec013048451"],  # pragma: allowlist secret
    }


# -- the source of a function --------------------------------------------------------------------------------------


def passed_on(function: Callable[..., object]) -> Callable[..., object]:
    @wraps(function)
    def wrapper(*args: object) -> object:
        return function(*args)

    return wrapper


def left(x: Any) -> Any:
    """Add one."""
    return x + 1


class Holder:
    def left(self: Any) -> Any:  # another argument, so another source
        return self + 1

    class Inner:
        @staticmethod
        def left(x: Any) -> Any:
            return x + 1  # ä: columns count bytes


@passed_on
def decorated(x: Any) -> Any:
    return x + 1


umlauts = {"ä": lambda x: x + 1, "ö": (lambda x: x + 1), "ü": lambda x: "ü" + x, "ß": lambda x: x + 2}


def source(function: object) -> str:
    """Return the hash of a function's source, which leads to no other."""
    (found,) = identity(function)["sources"]
    return found


def test_a_function_is_found_by_its_place() -> None:
    assert len({source(each) for each in (left, Holder.left, Holder.Inner.left)}) == 3


def test_a_decorated_function_is_known_by_its_wrapper_and_by_itself() -> None:
    assert isinstance(decorated, FunctionType)
    (wrapper,) = source_of(decorated)

    assert isinstance(wrapper, ast.FunctionDef)
    assert wrapper.name == "wrapper"
    assert len(identity(decorated)["sources"]) == 2


def test_lambdas_are_found_by_their_columns() -> None:
    found = [source(each) for each in umlauts.values()]

    assert [found.index(each) for each in found] == [0, 0, 2, 3]


@pytest.mark.parametrize("text", ["lambda x: x", "(lambda: lambda: 0)()"])
def test_what_was_not_written_in_a_file_has_no_source(text: str) -> None:
    assert source_of(eval(text)) == []


# -- what an object holds, and what of its class was written by hand -----------------------------------------------


@dataclass
class Compared:
    """A dataclass, one of whose fields is only a cache."""

    epsilon: float = 0.1
    cache: list[int] = field(default_factory=list, compare=False)


class Slotted:
    """Attributes in slots, one of which was never set."""

    __slots__ = ("cut", "unset")

    def __init__(self, cut: float) -> None:
        self.cut = cut


class Computing:
    """An attribute that is computed once from another."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    @cached_property
    def twice(self) -> float:
        return 2 * self.epsilon


def test_a_dataclass_holds_the_fields_that_it_compares() -> None:
    assert state(Compared(0.3, [1])) == {"epsilon": 0.3}


def test_an_object_holds_its_attributes_and_slots_but_nothing_computed() -> None:
    computing = Computing(0.1)
    assert computing.twice == 0.2

    assert state(computing) == [copyreg.__newobj__, (Computing,), {"epsilon": 0.1}]  # type: ignore[attr-defined]
    assert state(Slotted(2.0)) == [copyreg.__newobj__, (Slotted,), (None, {"cut": 2.0})]  # type: ignore[attr-defined]
    assert state(object()) == [copyreg.__newobj__, (object,)]  # type: ignore[attr-defined]


def test_an_heir_of_a_dataclass_holds_all_its_attributes() -> None:
    class Heir(Compared):
        pass

    heir = Heir(0.3)
    heir.limit = 1  # type: ignore[attr-defined]  # what an heir may do

    assert state(heir)[2] == {"epsilon": 0.3, "cache": [], "limit": 1}  # type: ignore[index]  # what pickling keeps


def test_what_pickling_makes_by_a_call_is_held_by_that_call() -> None:
    assert state(Fraction(1, 2)) == [Fraction, (1, 2)]
    assert state(deque([1, 2], maxlen=3))[2:] == [[1, 2]]  # type: ignore[index]  # an iterator is read up once


def test_a_way_to_pickle_that_was_registered_counts(monkeypatch: Any) -> None:
    monkeypatch.setitem(copyreg.dispatch_table, Slotted, lambda value: (Slotted, (value.cut + 1,)))

    assert state(Slotted(2.0)) == [Slotted, (3.0,)]


def test_what_cannot_be_kept_holds_nothing() -> None:
    assert state(threading.Lock()) is None


class Shape(Protocol):
    """A protocol, for what Python adds to it."""


@dataclass(frozen=True)
class OfEachKind(ABC):
    """A class with a bit of everything."""

    epsilon: float = 0.1
    unit = 1

    @property
    def share(self) -> float:
        return 0.5

    def __call__(self) -> float:
        return self.epsilon

    @abstractmethod
    def decide(self) -> float: ...

    @staticmethod
    def start() -> int:
        return 0


def test_what_was_written_by_hand_is_told_from_what_python_adds() -> None:
    written = {name for name, value in vars(OfEachKind).items() if is_written(OfEachKind, name, value)}

    assert written == {"unit", "share", "__call__", "decide", "start"}
    assert not [name for name, value in vars(Shape).items() if is_written(Shape, name, value)]


def test_a_special_method_from_elsewhere_was_not_written_here() -> None:
    class Borrowing:
        __eq__ = Fraction.__eq__

    assert not is_written(Borrowing, "__eq__", Fraction.__eq__)
