"""What identifies Python code: other content under the same name is noticed, another layout is not."""

from __future__ import annotations

import json
import linecache
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dtrbandit.design.identity import difference, identity

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
        ({"global POWER"}, "POWER = 2", "POWER = 3"),
        ({"global helper"}, "return x >", "return x >="),
        ({"global helper"}, "CUT = 3.5", "CUT = 3.6"),
        ({"global np"}, "import numpy as np", "import math as np"),
        ({"default of scale"}, "SCALE = 1", "SCALE = 2"),
        ({"default of shift", "source"}, "shift=0.5", "shift=0.25"),
        ({"source"}, "axis=1", "axis=-1"),
        (set(), "UNUSED = 1", "UNUSED = 2"),
    ],
)
def test_the_part_that_differs_has_another_value(parts: set[str], old: str, new: str) -> None:
    one, other = identity(written(BASIS).basis), identity(written(BASIS.replace(old, new)).basis)

    assert one.keys() == other.keys()
    assert {key for key in one if one[key] != other[key]} == parts


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
    assert identity(make(1.0)) == {**identity(make(2.0)), "enclosed cut": "1.0"}
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
    assert {key for key, value in identity(user).items() if value != before[key]} == {"global helpers.twice"}


def test_code_of_installed_packages_counts_by_its_name() -> None:
    user = written("from numpy import stack, sum, add\nfrom json import dumps\ndef f(x): return stack, add, dumps\n").f

    assert identity(user).keys() == {"source", "global stack", "global add", "global dumps"}
    assert identity(user) != identity(
        written(
            "from numpy import stack, subtract as add\nfrom json import dumps\ndef f(x): return stack, add, dumps\n"
        ).f
    )


def test_functions_of_this_package_count_by_their_names_compiled_or_not() -> None:
    names = "feasible_arms", "place", "forced_plan"
    user = written(
        "from dtrbandit.policies.policy import feasible_arms\n"
        "from dtrbandit.design.schedule import forced_plan, place\n"
        "def f(x): return feasible_arms, place, forced_plan\n"
    )

    described = [identity(getattr(user, name)) for name in names]

    homes = "dtrbandit.policies.policy", "dtrbandit.design.schedule", "dtrbandit.design.schedule"
    assert described == [{"name": f"{home}.{name}"} for home, name in zip(homes, names, strict=True)]
    assert identity(user.f).keys() == {"source", *(f"global {name}" for name in names)}


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
    assert identity(partial(max, nested))["source"] == "nested too deeply to tell"


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
    assert identity(Mine(0.1)) == {**identity(Mine(0.2)), "epsilon": "0.1"}
    assert identity(Plain(0.1)) == {**identity(Plain(0.2)), "epsilon": "0.1"}
    assert identity(Regime(0.1)) == {**identity(Regime(0.2)), "cut": "0.1"}


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
    ("part", "old", "new"),
    [
        ("decide", "u <", "u <="),
        ("decide", "LIMIT = 3", "LIMIT = 4"),
        ("share", "return 0.5", "return 0.6"),
        ("start", "return 0\n", "return 1\n"),
        ("size", "return 1", "return 2"),
        ("unit", "unit = 1", "unit = 2"),
    ],
)
def test_another_method_is_another_policy(part: str, old: str, new: str) -> None:
    one, other = identity(written(CLASS).Mine()), identity(written(CLASS.replace(old, new)).Mine())

    assert {key for key in one if one[key] != other[key]} == {part}


def test_another_default_does_not_matter_where_the_parameter_is_the_same() -> None:
    one, other = written(CLASS).Mine(0.3), written(CLASS.replace("= 0.1", "= 0.2")).Mine(0.3)

    assert identity(one) == identity(other)


def test_attributes_beyond_those_of_an_inherited_dataclass_count() -> None:
    inherited = written("import design.test_identity as base\nclass Mine(base.Mine):\n    pass\n").Mine
    one, other = inherited(0.1), inherited(0.1)
    one.limit, other.limit = 1, 2

    assert identity(one) == {**identity(other), "limit": "1"}


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
        "source": "acea149933237e281e1a8ec013048451"  # pragma: allowlist secret
    }


# -- in what two descriptions differ: the first place, by name, and what stands there


@pytest.mark.parametrize(
    ("there", "here", "says"),
    [
        ({"a": 1}, {"a": 1}, None),
        (1, 2, "it is 1 there and 2 here"),
        ({"a": 1}, {"a": 1, "b": None}, "it, b is missing there and None here"),
        ({"a": 1, "b": 2}, {"a": 1}, "it, b is 2 there and missing here"),
        ([1, {"name": "s", "x": 1}], [1, {"name": "s", "x": 2}], "it, 's', x is 1 there and 2 here"),
        ([1, 2], [1], "it is [1, 2] there and [1] here"),
        ("ab", "ac", "it is 'ab' there and 'ac' here"),
        ({"function": "f", "identity": {"g": "1"}}, {"function": "f", "identity": {"g": "2"}},
         "it, 'f', g is '1' there and '2' here"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(there: object, here: object, says: str | None) -> None:
    assert difference(there, here, "it") == says
