"""Features ψ_m(h) written as a formula: sums of products of columns and earlier arms.

::

    formula  ::=  term ("+" term)*
    term     ::=  "0" | "1" | factor (":" factor)* | factor ("*" factor)*
    factor   ::=  column | "C(" earlier stage ")"

``a*b`` is ``a + b + a:b``; the intercept ``1`` is included unless ``0`` is written; ``C(first)`` stands for the
indicators of the arm given at stage ``first``, coded as R does: without the first arm when the product without
this factor is in the formula too, otherwise with all arms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.grammar import Reader

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Column(NamedTuple):
    """A factor that is the value of a context column."""

    name: str

    def __str__(self) -> str:
        return self.name


class Indicator(NamedTuple):
    """A factor that is 1 when ``arm`` was given at the earlier ``stage``, else 0."""

    stage: str
    arm: int
    label: str

    def __str__(self) -> str:
        return f"C({self.stage})[{self.label}]"


class EarlierArm(NamedTuple):
    """The factor ``C(stage)`` as written, before it becomes indicators."""

    stage: str


MOST_FACTORS = 6
MOST_FEATURES = 256

Factor = Column | EarlierArm
Term = tuple[Column | Indicator, ...]


@dataclass(frozen=True)
class Formula:
    """A feature map ψ: one product per feature, the empty product being the intercept.

    Examples
    --------
    >>> formula = parse_formula("1 + x + x:C(first)", earlier={"first": ("ssri", "other")}, where="features")
    >>> formula.names
    ('1', 'x', 'x:C(first)[other]')
    >>> formula.row({"x": 3.0}, {"first": 1})
    (1.0, 3.0, 3.0)
    """

    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, as they appear in tables of coefficients."""
        return tuple(":".join(map(str, term)) or "1" for term in self.terms)

    @property
    def columns(self) -> tuple[str, ...]:
        """The context columns that the formula reads, in order of appearance."""
        factors = (factor for term in self.terms for factor in term)
        return tuple(dict.fromkeys(factor.name for factor in factors if isinstance(factor, Column)))

    def row(self, columns: Mapping[str, float], arms: Mapping[str, int]) -> tuple[float, ...]:
        """Return ψ for one unit, given its columns and its arms by stage name."""
        features = []
        for term in self.terms:
            value = 1.0
            for factor in term:
                value *= columns[factor[0]] if len(factor) == 1 else float(arms[factor[0]] == factor[1])
            features.append(value)
        return tuple(features)

    def matrix(self, columns: Mapping[str, Vector], arms: Mapping[str, NDArray[np.int64]], n: int) -> Matrix:
        """Return ψ for ``n`` units, (n, d): bit for bit the rows that ``row`` gives."""
        features = np.ones((n, len(self.terms)))
        for j, term in enumerate(self.terms):
            for factor in term:
                features[:, j] *= (
                    columns[factor.name] if isinstance(factor, Column) else arms[factor.stage] == factor.arm
                )
        return features


def parse_formula(text: str, *, earlier: Mapping[str, Sequence[str]], where: str) -> Formula:
    """Read a formula; ``earlier`` gives the arms of each earlier stage, ``where`` begins error messages."""
    reader = Reader(text, where=where)
    products, intercept = _sum(reader, earlier)
    if intercept:
        products = {(): None, **products}
    if not products:
        reader.reject("a formula needs at least one feature")
    coded = (_indicators(factors, products, earlier) for factors in products)
    return Formula(tuple(term for terms in coded for term in terms))


def _sum(reader: Reader, earlier: Mapping[str, Sequence[str]]) -> tuple[dict[tuple[Factor, ...], None], bool]:
    """Return the distinct products of a formula in order, and whether it has an intercept."""
    products: dict[tuple[Factor, ...], None] = {}
    written: set[str] = set()
    while True:
        if constant := reader.take_if("0", "1"):
            written.add(constant.text)
            if written == {"0", "1"}:
                reader.reject("write 0 (no intercept) or 1 (intercept), not both", constant)
        else:
            for factors in _term(reader, earlier):
                if not any(set(factors) == set(known) for known in products):
                    products[factors] = None
            if len(products) > MOST_FEATURES:
                reader.reject(f"a formula may have {MOST_FEATURES} features")
        if reader.token.kind == "end":
            return products, "0" not in written
        if not reader.take_if("+"):
            reader.reject("expected '+', ':' or '*' between features (compute anything else as a column of its own)")


def _term(reader: Reader, earlier: Mapping[str, Sequence[str]]) -> list[tuple[Factor, ...]]:
    """Return the products that a term stands for: one for ``a:b``, three for ``a*b``."""
    factors = [_factor(reader, earlier)]
    sign = reader.token.text if reader.token.text in (":", "*") else ""
    while sign and reader.take_if(sign):
        token = reader.token
        factor = _factor(reader, earlier)
        if factor in factors:
            reader.reject("a product may name a factor once (supply a power as a column of its own)", token)
        factors.append(factor)
        if len(factors) > MOST_FACTORS:
            reader.reject(f"a product may have {MOST_FACTORS} factors", token)
    if reader.token.text in (":", "*"):
        reader.reject("a product uses ':' or '*', not both (write the sum out)")
    if sign == "*":
        return [some for size in range(1, len(factors) + 1) for some in combinations(factors, size)]
    return [tuple(factors)]


def _factor(reader: Reader, earlier: Mapping[str, Sequence[str]]) -> Factor:
    token = reader.take()
    if token.kind != "name":
        reader.reject("expected a column or C(an earlier stage)", token)
    if token.text in earlier:
        reader.reject(f"write C({token.text}) for the arm given at stage {token.text!r}", token)
    if token.text != "C" or reader.token.text != "(":
        return Column(token.text)
    reader.expect("(")
    stage = reader.take()
    if stage.text not in earlier:
        allowed = ", ".join(map(repr, earlier)) or "none, this is the first stage"
        reader.reject(f"C(...) takes an earlier stage (here: {allowed})", stage)
    reader.expect(")")
    return EarlierArm(stage.text)


def _indicators(
    factors: tuple[Factor, ...],
    products: Mapping[tuple[Factor, ...], None],
    earlier: Mapping[str, Sequence[str]],
) -> list[Term]:
    """Replace each ``C(stage)`` of a product by indicators; several arms give several features."""
    choices: list[list[Column | Indicator]] = []
    for factor in factors:
        if isinstance(factor, Column):
            choices.append([factor])
            continue
        others = {other for other in factors if other != factor}
        skip = int(any(set(known) == others for known in products))
        labels = earlier[factor.stage]
        choices.append([Indicator(factor.stage, arm, labels[arm]) for arm in range(skip, len(labels))])
    return [tuple(term) for term in product(*choices)]
