"""What sources may not say: in kernels, what means another thing once it is compiled; anywhere, what is not ours.

A module with a ``.pxd`` beside it is a kernel. Compiled, whole numbers are those of C: ``//`` and ``%`` round towards
zero, a division by zero ends the program, ``/`` between two of them gives a whole number, and a shift may overflow.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel_types import (
    OBJECT,
    REAL,
    WHOLE,
    Declared,
    Function,
    Type,
    Types,
    constants_of,
    declared_below,
    divisions,
    functions_of,
    operations,
    parse,
)

SOURCE = Path(__file__).parents[1] / "src/dtrbandit"
TREES = {
    file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(SOURCE.rglob("*.py"))
}
DECLARED = declared_below(SOURCE)
CONSTANTS = constants_of((SOURCE / "kernels/constants.pxd").read_text(encoding="utf-8"))
KERNELS = {name.removeprefix("dtrbandit.").replace(".", "/") + ".py": each for name, each in DECLARED.items()}
each_module = pytest.mark.parametrize("module", TREES)
each_kernel = pytest.mark.parametrize("module", KERNELS)

# Each // and % of a kernel: why what is divided is not negative, and what it is divided by is not zero.
WHOLE_DIVISIONS = {
    ("design/schedule.py", "(t - 1) // size"): "rounds count from 1; size is 1 or more",
    ("design/schedule.py", "(t - 1) % size"): "rounds count from 1; size is 1 or more",
    ("design/schedule.py", "offset // q"): "an offset counts rounds; q is a number of Python, which refuses 0",
    ("driver.py", "node % self.state.observed.nodes_of_tree"): "feasible arms lead to nodes; every tree has some",
    ("estimators/levels.py", "(capacity + c.BLOCK - 1) // c.BLOCK"): "a capacity counts units",
    ("estimators/levels.py", "fill % c.BLOCK"): "a fill counts units",
    ("estimators/observed.py", "node % self.nodes_of_tree"): "whoever asks has looked that it is no -1",
    ("estimators/observed.py", "other % self.nodes_of_tree"): "asked only where it is not negative",
    ("estimators/optimistic.py", "(capacity + c.ROWS - 1) // c.ROWS"): "a capacity counts units",
    ("estimators/optimistic.py", "j % 2"): "j counts features",
    ("estimators/optimistic.py", "self.node[m, block] % self.observed.nodes_of_tree"): "a block in use has a node",
    ("policies/forced_rounds.py", "offset // self.q"): "an offset counts rounds; q is 1 or more",
    ("policies/forced_rounds.py", "offset % self.q"): "an offset counts rounds; q is 1 or more",
    ("policies/forced_rounds.py", "slot %= max(self.open_plans(), 1)"): "a slot counts rounds",
    ("policies/state.py", "room // 2"): "room counts units",
}


# -- kernels -------------------------------------------------------------------------------------------------


def test_every_whole_division_of_a_kernel_is_known_to_be_safe() -> None:
    found = {
        (module, ast.unparse(node))
        for module in KERNELS
        for node, _, _ in operations(TREES[module], ast.FloorDiv, ast.Mod)
    }

    assert found == set(WHOLE_DIVISIONS)


@each_kernel
def test_no_kernel_rounds_up_by_two_minus_signs(module: str) -> None:
    """Compiled, -(-5 // 4) is 1; (5 + 4 - 1) // 4 is 2 in either case."""
    negative = [
        ast.unparse(node)
        for node, left, right in operations(TREES[module], ast.FloorDiv, ast.Mod)
        if any(isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub) for each in (left, right))
    ]

    assert negative == []


@each_kernel
def test_no_kernel_divides_a_whole_number_by_another_with_a_stroke(module: str) -> None:
    """It may where one operand is a double of C, or an object of Python, which keeps the rules of Python."""
    types = Types(KERNELS[module], DECLARED, CONSTANTS)

    assert list(divisions(TREES[module], types)) == []


@each_kernel
def test_no_kernel_shifts_bits(module: str) -> None:
    """Compiled, 1 << 31 overflows: the 1 is an int of C."""
    assert [ast.unparse(node) for node, _, _ in operations(TREES[module], ast.LShift, ast.RShift)] == []


@each_kernel
def test_no_kernel_counts_from_the_end(module: str) -> None:
    """Compiled, an index of -1 is the place before the first: ``wraparound`` is off."""
    indices = [node.slice for node in ast.walk(TREES[module]) if isinstance(node, ast.Subscript)]
    each = [part for index in indices for part in (index.elts if isinstance(index, ast.Tuple) else [index])]

    assert [ast.unparse(part) for part in each if isinstance(part, ast.UnaryOp)] == []


@each_kernel
def test_a_kernel_says_the_same_of_its_functions_in_both_files(module: str) -> None:
    """Arguments by name and in order, each of the same kind, and what is returned; all is annotated."""
    python = {"int": {WHOLE}, "bool": {WHOLE}, "float": {REAL}, "None": {OBJECT}}
    functions = {(owner, each.name): each for owner, each in functions_of(TREES[module])}
    for (owner, name), declared in declared_functions(KERNELS[module]).items():
        function = functions[owner, name]
        arguments = function.args.args
        assert [each.arg for each in arguments] == list(declared.arguments)
        for argument in arguments[1:] if owner else arguments:
            assert argument.annotation is not None
            kind = kind_of(declared.arguments[argument.arg])
            assert kind in python.get(ast.unparse(argument.annotation), {OBJECT}), f"{name}: {argument.arg}"
        assert function.returns is not None
        returns, parts = ast.unparse(function.returns), declared.returns.parts
        if parts:
            inner = returns.removeprefix("tuple[").removesuffix("]").split(", ")
            assert [{part.kind} for part in parts] == [python[each] for each in inner], name
        else:
            assert kind_of(declared.returns) in python.get(returns, {OBJECT}), name


@each_kernel
def test_what_is_declared_of_a_kernel_is_there(module: str) -> None:
    """Local names are assigned to, and attributes are set."""
    functions = {(owner, each.name): each for owner, each in functions_of(TREES[module])}
    for key, declared in declared_functions(KERNELS[module]).items():
        stored = {node.id for node in ast.walk(functions[key]) if isinstance(node, ast.Name)}
        assert set(declared.locals) <= stored - set(declared.arguments), key
    for owner, each in KERNELS[module].classes.items():
        own = [function for (name, _), function in functions.items() if name == owner]
        attributes = (node for function in own for node in ast.walk(function) if isinstance(node, ast.Attribute))
        assert set(each.attributes) <= {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}, owner


def declared_functions(declared: Declared) -> dict[tuple[str, str], Function]:
    """Return all functions and methods, each with the name of its class."""
    methods = {(owner, name): each for owner, one in declared.classes.items() for name, each in one.methods.items()}
    return {("", name): each for name, each in declared.functions.items()} | methods


def kind_of(declared: Type) -> str:
    """Return WHOLE or REAL for a number of C, OBJECT for all else."""
    return OBJECT if declared.array or declared.name else declared.kind


# -- the check of strokes, on a small kernel -----------------------------------------------------------------

SMALL = parse("""
cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c

cdef long long count(long long n) noexcept nogil

cdef class Base:
    cdef public long long q
    cdef long long open(self) noexcept nogil

@cython.final
cdef class Box(Base):
    cdef public double x
    cdef public Base other
    cdef public long long[:, ::1] rows
    cdef public double[::1] sums
    cdef public object thing
    @cython.locals(a=cython.longlong, b=cython.double)
    cpdef (double, long long) typed(self, long long n, double u) noexcept nogil
""")


def flagged(body: str, head: str = "def plain(self, given)") -> bool:
    """Say whether the check objects to the body of a method."""
    tree = ast.parse(f"class Box(Base):\n    {head}:\n        {body}\n")
    return bool(list(divisions(tree, Types(SMALL, {"small": SMALL}, {"BLOCK": WHOLE, "RIDGE": REAL}))))


@pytest.mark.parametrize(
    "body",
    [
        "each = self.q * self.open() / max(self.other.open(), 1)",
        "each = 1 / 2",
        "n = len(given); each = n / 2",
        "n = 0; n = n + 1; each = n / 5",
        "n = self.q; n /= 3",
        "self.q /= 3",
        "each = [k / 2 for k in range(self.q)]",
        "each = [k / 2 for k, _ in enumerate(given)]",
        "each = count(3) / 4",
        "each = self.rows[0, 1] / 3",
        "each = self.rows.shape[0] / c.BLOCK",
        "each = (self.q > 2) / 2",
        "each = -self.q / self.other.q",
        "_, n = self.typed(1, 2.0); each = n / 2",
        "each = self.typed(1, 2.0)[1] / 2",
        "each = (self.q or 2) / 3",
        "each = (self.q if given else 1.0) / 2",  # compiled a double; but not for certain
        "each = int(self.x) / 2",
        "each = self.q ** 2 / 3",
        "for row in self.rows:\n            each = row[0] / 2",
        "each = lambda: self.q / 2",
    ],
)
def test_the_check_objects_to_what_may_be_two_whole_numbers(body: str) -> None:
    assert flagged(body)


@pytest.mark.parametrize(
    "body",
    [
        "each = 1.0 * self.q * self.open() / max(self.open(), 1)",
        "each = self.x / self.q",
        "each = self.q / c.RIDGE",
        "each = self.q / math.sqrt(self.q)",
        "each = float(self.q) / 2",
        "total, _ = self.typed(1, 2.0); each = total / 2",
        "for value in self.sums:\n            each = value / 2",
        "each = given / self.q",  # of Python
        "each = self.thing.size / 4",
        "each = self.plain(1) / 2",
        "each = ANYTHING / 2",
    ],
)
def test_the_check_does_not_object_to_a_double_or_an_object(body: str) -> None:
    assert not flagged(body)


def test_the_check_knows_arguments_and_local_names_that_are_declared() -> None:
    typed = "def typed(self, n, u)"

    assert flagged("a = given(); each = n / a", typed)
    assert not flagged("b = given(); each = n / b", typed)
    assert not flagged("each = n / u", typed)


def test_the_check_looks_outside_of_functions_too() -> None:
    tree = ast.parse("HALF = 1 / 2")

    assert list(divisions(tree, Types(SMALL, {"small": SMALL}, {}))) == [("1 / 2", "in no function")]


def test_a_line_that_is_not_understood_is_refused() -> None:
    with pytest.raises(ValueError, match="not understood: 'cdef struct Pair:'"):
        parse("cdef struct Pair:\n    int first\n")


# -- the whole package ---------------------------------------------------------------------------------------

DOCUMENTED = {
    "_asdict", "_field_defaults", "_fields", "_make", "_replace",  # of named tuples
    "_getframe",  # of sys
}  # fmt: skip
BETWEEN_OUR_MODULES = {("testing/policy_contract.py", "earlier._belief")}  # of a session


def is_private(name: object) -> bool:
    return isinstance(name, str) and bool(re.match(r"_[^_]|__.*[^_]$", name))


def given_names(tree: ast.AST) -> set[str]:
    """Return the names that a source gives to something."""
    given: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                given.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                given.add(name)
    return given


OWN = set().union(*map(given_names, TREES.values()))


def private_imports(tree: ast.Module) -> Iterator[str]:
    """Yield the private names that a module imports from another package."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if any(map(is_private, each.name.split("."))))
            case ast.ImportFrom(module=str() as module, names=names) if module.split(".")[0] != "dtrbandit":
                parts = (*module.split("."), *(each.name for each in names))
                yield from (f"{module}: {part}" for part in parts if is_private(part))


def private_attributes(tree: ast.Module) -> Iterator[str]:
    """Yield the private attributes that a module looks for, and that are those of others.

    What it looks for in ``self`` may be given in another module of the package, all else must be given in this one.
    """
    own = given_names(tree) | DOCUMENTED
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                known = name in OWN | DOCUMENTED
            case ast.Attribute(attr=name):
                known = name in own
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(value=name), *_]):
                known = name in own
            case _:
                continue
        if is_private(name) and not known:
            yield ast.unparse(node)


@each_module
def test_no_private_name_of_another_package_is_used(module: str) -> None:
    found = [*private_imports(TREES[module]), *private_attributes(TREES[module])]

    assert [each for each in found if (module, each) not in BETWEEN_OUR_MODULES] == []


@pytest.mark.parametrize(
    "code",
    [
        "import numpy._core",
        "from numpy import _core",
        "from numpy._core import umath",
        "response._headers",
        "getattr(response, '_headers')",
        "self._unset_keepalive_if_required()",
        "numba.core.registry.cpu_target._cache",
    ],
)
def test_the_check_finds_private_names_of_others(code: str) -> None:
    tree = ast.parse(code)

    assert [*private_imports(tree), *private_attributes(tree)]


def test_the_check_passes_over_our_own_names_and_documented_ones() -> None:
    code = (
        "from dtrbandit._version import NUMERICS\nfrom __future__ import annotations\n_, x = decision._replace(arm=1)"
    )
    tree = ast.parse(code)

    assert [*private_imports(tree), *private_attributes(tree)] == []


@each_module
def test_no_code_is_made_at_run_time(module: str) -> None:
    made = []
    for node in ast.walk(TREES[module]):
        match node:
            case ast.Name(id="exec" | "eval" | "compile" | "__import__"):
                made.append(ast.unparse(node))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in ("FunctionType", "CodeType"):
                made.append(ast.unparse(node))  # a copy of a function

    assert made == []


@each_module
def test_no_compiler_is_imported(module: str) -> None:
    imported: set[str] = set()
    for node in ast.walk(TREES[module]):
        match node:
            case ast.Import(names=names):
                imported |= {each.name.split(".")[0] for each in names}
            case ast.ImportFrom(module=str() as source):
                imported.add(source.split(".")[0])

    assert not imported & {"numba", "llvmlite", "cython", "Cython", "cffi", "setuptools", "distutils", "jax", "torch"}
