"""C types in the sources of kernels, read without a compiler: from a ``.pxd``, and from what the ``.py`` computes.

Compiled, ``/`` between two whole numbers of C gives a whole number, where Python gives one with a point. So it matters
which is which. ``Types`` knows what the compiler is told: attributes, arguments, results and local names of a ``.pxd``.
From these follows what an expression is: WHOLE or REAL of C, or OBJECT of Python. What does not follow is UNKNOWN.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

WHOLE, REAL, OBJECT, UNKNOWN, NOTHING = "whole", "real", "object", "unknown", "nothing yet"
SCALARS = dict.fromkeys(("long long", "int", "bint", "signed char", "unsigned char", "longlong"), WHOLE)
SCALARS |= {
    "double": REAL,
    "object": OBJECT,
    "void": OBJECT,
    "const char*": OBJECT,
    "list": OBJECT,
    "tuple": OBJECT,
    "bytes": OBJECT,
    "dict": OBJECT,
}
HEAD = re.compile(r"cdef class (\w+)(?:\((\w+)\))?:")
ATTRIBUTES = re.compile(r"cdef (?:public |readonly )?(?:const )?([\w ]+?(?:\[[:, 1]+\])?) (\w+(?:, \w+)*)")
FUNCTION = re.compile(r"(?:cdef|cpdef) (\([\w, ]+\)|[\w ]+?) (\w+)\((.*)\)(?: noexcept(?: nogil)?| except \*)?")
LOCALS = re.compile(r"@cython\.locals\((.*)\)")
CIMPORT = re.compile(r"from ([\w.]+) cimport (\w+)(?: as (\w+))?|cimport (\w+)")
IGNORED = re.compile(r"@cython\.final|")


@dataclass(frozen=True)
class Type:
    """What a name or an expression is.

    ``kind`` is WHOLE, REAL, OBJECT or UNKNOWN, or that of the entries of an array; ``name`` is that of a class of
    kernels; ``parts`` are those of a tuple of C.
    """

    kind: str
    array: bool = False
    name: str = ""
    parts: tuple[Type, ...] = ()

    def item(self) -> Type:
        """Return what an index gives."""
        known = self.array or (self.kind in (OBJECT, NOTHING) and not self.parts)
        return Type(self.kind if known else UNKNOWN)


@dataclass(frozen=True)
class Function:
    """What a ``.pxd`` says of a function: its arguments in order, what it returns, and its local names."""

    arguments: dict[str, Type]
    returns: Type
    locals: dict[str, Type]


@dataclass
class Class:
    """What a ``.pxd`` says of a class."""

    base: str
    attributes: dict[str, Type] = field(default_factory=dict)
    methods: dict[str, Function] = field(default_factory=dict)


@dataclass
class Declared:
    """What a ``.pxd`` says of a module; ``cimported`` has the names that it takes from others, with where from."""

    classes: dict[str, Class] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    cimported: dict[str, str] = field(default_factory=dict)


def type_of(text: str) -> Type:
    """Return what a ``.pxd`` calls by some words."""
    text = text.strip().removeprefix("const ")
    if text.startswith("("):
        return Type(OBJECT, parts=tuple(type_of(each) for each in text.strip("()").split(",")))
    if text.endswith("]"):
        return Type(SCALARS[text.split("[")[0]], array=True)
    return Type(SCALARS[text]) if text in SCALARS else Type(OBJECT, name=text)


def parse(text: str) -> Declared:
    """Read a ``.pxd``; a line that is not understood is an error."""
    declared, within, names = Declared(), Declared().functions, ""
    owner: Class | None = None
    for line in text.splitlines():
        bare = line.strip()
        if not line.startswith(" ") and bare:
            owner = None
        if head := HEAD.fullmatch(bare):
            owner = declared.classes.setdefault(head[1], Class(head[2] or ""))
        elif function := FUNCTION.fullmatch(bare):
            within = declared.functions if owner is None else owner.methods
            within[function[2]] = _function(function[1], function[3], names)
            names = ""
        elif found := LOCALS.fullmatch(bare):
            names = found[1]
        elif found := CIMPORT.fullmatch(bare):
            declared.cimported[found[3] or found[2] or found[4]] = found[1] or ""
        elif (found := ATTRIBUTES.fullmatch(bare)) and owner is not None:
            owner.attributes |= dict.fromkeys(found[2].split(", "), type_of(found[1]))
        elif not IGNORED.fullmatch(bare):
            raise ValueError(f"a line of a .pxd that is not understood: {line!r}")
    return declared


def _function(returns: str, arguments: str, names: str) -> Function:
    given: dict[str, Type] = {}
    for argument in re.split(r",\s*(?![:\s1,]*\])", arguments):
        *words, name = argument.split()
        given[name] = type_of(" ".join(words)) if words else Type(OBJECT)
    pairs = (pair.split("=") for pair in names.split(", ") if pair)
    return Function(given, type_of(returns), {name: type_of(kind.removeprefix("cython.")) for name, kind in pairs})


def joined(*types: Type) -> Type:
    """Return what something is that is one of these."""
    known = {each for each in types if each.kind != NOTHING}
    kinds = {each.kind for each in known}
    if len(known) < 2:
        return known.pop() if known else Type(NOTHING)
    if UNKNOWN in kinds or OBJECT not in kinds:
        return Type(kinds.pop() if len(kinds) == 1 else UNKNOWN)
    return Type(OBJECT)


class Types:
    """What expressions of one module are; ``classes`` and ``functions`` are those of all modules, by name."""

    def __init__(self, declared: Declared, package: dict[str, Declared], constants: dict[str, str]) -> None:
        self.declared, self.constants = declared, constants
        self.classes = {name: each for one in package.values() for name, each in one.classes.items()}
        self.functions = dict(declared.functions)
        for name, module in declared.cimported.items():
            if module in package and name in package[module].functions:
                self.functions[name] = package[module].functions[name]

    def method(self, name: str, attribute: str) -> Function | None:
        """Return what is declared of a method of a class, or of one that it inherits from."""
        while name in self.classes:
            if attribute in self.classes[name].methods:
                return self.classes[name].methods[attribute]
            name = self.classes[name].base
        return None

    def attribute(self, name: str, attribute: str) -> Type:
        """Return what an attribute of a class is; one that is not declared is looked up by Python."""
        while name in self.classes:
            if attribute in self.classes[name].attributes:
                return self.classes[name].attributes[attribute]
            name = self.classes[name].base
        return Type(OBJECT)


class Scope:
    """The names of one function, and what its expressions are."""

    def __init__(self, types: Types, function: ast.FunctionDef, owner: str) -> None:
        self.types, self.function = types, function
        declared = types.method(owner, function.name) if owner else types.declared.functions.get(function.name)
        every = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        self.fixed = {each.arg: Type(OBJECT) for each in every}
        if declared is not None:
            self.fixed |= dict(zip([each.arg for each in every], declared.arguments.values(), strict=True))
            self.fixed |= declared.locals
        if owner in types.classes and every and every[0].arg == "self":
            self.fixed["self"] = Type(OBJECT, name=owner)
        stored = (
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self.names = dict.fromkeys(stored, Type(NOTHING)) | self.fixed
        while (found := self._found()) != self.names:
            self.names = found

    def _found(self) -> dict[str, Type]:
        """Return what names are that nothing is declared of: all that is assigned to each, as far as that is known."""
        found: dict[str, list[Type]] = {}
        for name, value in assigned(self.function, self):
            found.setdefault(name, []).append(value)
        return {name: joined(*values) for name, values in found.items()} | self.fixed

    # -- expressions -----------------------------------------------------------------------------------------

    def of(self, node: ast.expr) -> Type:
        """Return what an expression is."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return Type(REAL if isinstance(value, float) else WHOLE)
            case ast.Name(id=name):
                return self.names.get(name, Type(OBJECT))  # of a module: looked up by Python
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(value=value, slice=index):
                return self.of(value) if isinstance(index, ast.Slice) else self.of(value).item()
            case ast.Tuple(elts=elements):
                return Type(OBJECT, parts=tuple(map(self.of, elements)))
            case ast.NamedExpr(value=value):
                return self.of(value)
            case ast.Call():
                return self._call(node)
        return self._computed(node)

    def _computed(self, node: ast.expr) -> Type:
        match node:
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return Type(WHOLE)
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.BinOp(left=left, right=right, op=op):
                return self.result(self.of(left), op, self.of(right))
            case ast.BoolOp(values=values):
                return joined(*map(self.of, values))
            case ast.IfExp(body=body, orelse=other):
                return joined(self.of(body), self.of(other))
        return Type(OBJECT)  # lists, texts, comprehensions, functions

    def result(self, left: Type, op: ast.operator, right: Type) -> Type:
        """Return what an operation gives."""
        kinds = {left.kind, right.kind}
        if NOTHING in kinds or OBJECT in kinds:
            return Type(NOTHING if NOTHING in kinds else OBJECT)
        if UNKNOWN in kinds or isinstance(op, ast.Pow):
            return Type(REAL if REAL in kinds else UNKNOWN)
        return Type(REAL if REAL in kinds else WHOLE)

    def _attribute(self, node: ast.Attribute) -> Type:
        match node.value:
            case ast.Name(id=name) if name not in self.names:
                module = self.types.declared.cimported.get(name, "")
                if module == "dtrbandit.kernels":
                    return Type(self.types.constants.get(node.attr, UNKNOWN))
                return Type(OBJECT)
        owner = self.of(node.value)
        if owner.array:
            return Type(WHOLE, array=True) if node.attr == "shape" else Type(UNKNOWN)
        if owner.name in self.types.classes:
            return self.types.attribute(owner.name, node.attr)
        return Type(owner.kind if owner.kind in (OBJECT, NOTHING) else UNKNOWN)

    def _call(self, node: ast.Call) -> Type:
        match node.func:
            case ast.Name(id="abs" | "max" | "min") if node.args:
                return joined(*map(self.of, node.args))
            case ast.Name(id="float"):
                return Type(REAL)
            case ast.Name(id="len" | "ord" | "bool" | "isinstance" | "hash"):
                return Type(WHOLE)
            case ast.Name(id="int" | "round" | "sum" | "divmod" | "pow"):
                return Type(UNKNOWN)  # the compiler may know better than Python
            case ast.Name(id=name) if name in self.types.functions and name not in self.names:
                return self.types.functions[name].returns
            case ast.Name(id=name) if name in self.types.classes and name not in self.names:
                return Type(OBJECT, name=name)
            case ast.Attribute(value=ast.Name(id="math")) if self.types.declared.cimported.get("math") == "libc":
                return Type(REAL)
            case ast.Attribute(value=value, attr=name):
                method = (
                    self.types.method(owner, name) if (owner := self.of(value).name) in self.types.classes else None
                )
                return Type(OBJECT) if method is None else method.returns
        return Type(OBJECT)


def assigned(function: ast.FunctionDef, scope: Scope) -> Iterator[tuple[str, Type]]:
    """Yield the names to which a function assigns, and what."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _bound(target, scope.of(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield from _bound(target, scope.of(value))
            case ast.AugAssign(target=ast.Name(id=name), value=value, op=op):
                yield name, scope.result(scope.names[name], op, scope.of(value))
            case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
                yield from _bound(target, _items(source, scope))
            case ast.withitem(optional_vars=ast.expr() as target):
                yield from _bound(target, Type(OBJECT))


def _bound(target: ast.expr, value: Type) -> Iterator[tuple[str, Type]]:
    match target:
        case ast.Name(id=name):
            yield name, value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            parts = value.parts or (value.item(),) * len(elements)
            for element, part in zip(elements, parts, strict=True):
                yield from _bound(element, part)
        case ast.Starred(value=inner):
            yield from _bound(inner, Type(OBJECT))


def _items(source: ast.expr, scope: Scope) -> Type:
    match source:
        case ast.Call(func=ast.Name(id="range")):
            return Type(WHOLE)
        case ast.Call(func=ast.Name(id="enumerate")):
            return Type(OBJECT, parts=(Type(WHOLE), Type(OBJECT)))
    return scope.of(source).item()


def functions_of(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes, each with the name of its class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield "", node
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, each) for each in node.body if isinstance(each, ast.FunctionDef))


def operations(tree: ast.AST, *kinds: type[ast.operator]) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr, ast.expr]]:
    """Yield the operations of these kinds, each with its left and right operand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
            yield node, node.left, node.right
        if isinstance(node, ast.AugAssign) and isinstance(node.op, kinds):
            yield node, node.target, node.value


def divisions(tree: ast.Module, types: Types) -> Iterator[tuple[str, str]]:
    """Yield each ``/`` of a module whose operands may both be whole numbers of C, with what they are."""
    seen = set()
    for owner, function in functions_of(tree):
        scope = Scope(types, function, owner)
        for node, left, right in operations(function, ast.Div):
            seen.add(node)
            kinds = scope.of(left).kind, scope.of(right).kind
            if not {REAL, OBJECT} & set(kinds):
                yield ast.unparse(node), " / ".join(kinds)
    yield from ((ast.unparse(node), "in no function") for node, _, _ in operations(tree, ast.Div) if node not in seen)


def declared_below(folder: Path) -> dict[str, Declared]:
    """Return what the ``.pxd`` files of a package say, by module, without that of the constants."""
    return {
        ".".join((folder.name, *file.relative_to(folder).with_suffix("").parts)): parse(
            file.read_text(encoding="utf-8")
        )
        for file in sorted(folder.rglob("*.pxd"))
        if file.stem != "constants"
    }


def constants_of(text: str) -> dict[str, str]:
    """Return which constants of ``constants.pxd`` are WHOLE, REAL or OBJECT."""
    entries = dict.fromkeys(re.findall(r"^    ([A-Z]\w*) = -?\d+$", text, re.MULTILINE), WHOLE)
    typed = re.findall(r"^    (double|long long|const char\*) ([A-Z]\w*)", text, re.MULTILINE)
    return entries | {name: SCALARS[kind] for kind, name in typed}
