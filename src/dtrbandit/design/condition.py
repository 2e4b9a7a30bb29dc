"""The condition ``enter_if``, under which a unit enters a stage.

::

    condition   ::=  all ("or" all)*
    all         ::=  one ("and" one)*
    one         ::=  "not" one | "(" condition ")" | value (compare value)+
    value       ::=  column | ["-"] number
    compare     ::=  "<" | "<=" | ">" | ">=" | "==" | "!="
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.grammar import Reader, Token
from dtrbandit.kernels.arrays import Mask

Columns = Mapping[str, float] | Mapping[str, NDArray[np.float64]]
Value = str | float
Names = dict[str, Token]  # each column, and where it was named first

COMPARE: Mapping[str, Callable[..., bool | Mask]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
MOST_NESTED = 50


class Comparison(NamedTuple):
    """``left sign right``, each side a column or a number."""

    left: Value
    sign: str
    right: Value

    def holds(self, columns: Columns) -> bool | Mask:
        """Compare, for one unit or for many."""
        left, right = (columns[side] if isinstance(side, str) else side for side in (self.left, self.right))
        return COMPARE[self.sign](left, right)


class Combination(NamedTuple):
    """All or any of the operands or, for ``not``, the opposite of the only one."""

    word: Literal["and", "or", "not"]
    operands: tuple[Comparison | Combination, ...]

    def holds(self, columns: Columns) -> bool | Mask:
        """Combine the answers of the operands, for one unit or for many."""
        answers = [operand.holds(columns) for operand in self.operands]
        match self.word:
            case "and":
                return reduce(operator.and_, answers)
            case "or":
                return reduce(operator.or_, answers)
            case "not":
                return COMPARE["=="](answers[0], False)


@dataclass(frozen=True)
class Condition:
    """A condition on context columns, for one unit or for arrays of units.

    Examples
    --------
    >>> condition = parse_condition("qids_end1 > 5 and not (0 < slope <= 2)", where="enter_if")
    >>> condition.holds({"qids_end1": 8.0, "slope": 3.0})
    True
    >>> condition.columns
    ('qids_end1', 'slope')
    """

    root: Comparison | Combination
    columns: tuple[str, ...]

    def holds(self, columns: Mapping[str, float]) -> bool:
        """Say whether one unit meets the condition."""
        return bool(self.root.holds(columns))

    def mask(self, columns: Mapping[str, NDArray[np.float64]]) -> Mask:
        """Say which of many units meet the condition."""
        return np.asarray(self.root.holds(columns), dtype=np.bool_)


def parse_condition(text: str, *, where: str, stages: Collection[str] = ()) -> Condition:
    """Return the condition that a text stands for.

    ``where`` begins the message of an error. ``stages`` are names that no column may have.
    """
    reader = Reader(text, where=where)
    names: Names = {}
    root = _any(reader, names, 0)
    if reader.token.kind != "end":
        reader.reject("expected 'and', 'or' or a comparison")
    if not names:
        reader.reject("a condition needs at least one column")
    for name in names:
        if name in stages:
            reader.reject(f"a condition compares columns; {name!r} is a stage", names[name])
    return Condition(root, tuple(names))


def _any(reader: Reader, names: Names, depth: int) -> Comparison | Combination:
    operands = [_all(reader, names, depth)]
    while reader.take_if("or"):
        operands.append(_all(reader, names, depth))
    return operands[0] if len(operands) == 1 else Combination("or", tuple(operands))


def _all(reader: Reader, names: Names, depth: int) -> Comparison | Combination:
    operands = [_one(reader, names, depth)]
    while reader.take_if("and"):
        operands.append(_one(reader, names, depth))
    return operands[0] if len(operands) == 1 else Combination("and", tuple(operands))


def _one(reader: Reader, names: Names, depth: int) -> Comparison | Combination:
    if depth > MOST_NESTED:
        reader.reject(f"a condition may nest {MOST_NESTED} deep")
    if reader.take_if("not"):
        return Combination("not", (_one(reader, names, depth + 1),))
    if reader.take_if("("):
        inner = _any(reader, names, depth + 1)
        reader.expect(")")
        return inner
    return _comparisons(reader, names)


def _comparisons(reader: Reader, names: Names) -> Comparison | Combination:
    operands, left = [], _value(reader, names)
    while sign := reader.take_if(*COMPARE):
        right = _value(reader, names)
        operands.append(Comparison(left, sign.text, right))
        left = right
    if not operands:
        reader.reject(f"expected a comparison ({' '.join(COMPARE)})")
    return operands[0] if len(operands) == 1 else Combination("and", tuple(operands))


def _value(reader: Reader, names: Names) -> Value:
    minus = reader.take_if("-")
    token = reader.take()
    if token.kind == "number":
        if not math.isfinite(float(token.text)):
            reader.reject("expected a finite number", token)
        return -float(token.text) if minus else float(token.text)
    if token.kind != "name" or minus or token.text in ("and", "or", "not"):
        reader.reject("expected a column or a number", token)
    names.setdefault(token.text, token)
    return token.text
