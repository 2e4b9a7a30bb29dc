"""Features ψ_m(h) written as a formula: sums of products of columns and earlier arms.

::

    formula  ::=  term ("+" term)*
    term     ::=  "0" | "1" | factor (":" factor)* | factor ("*" factor)*
    factor   ::=  column | "C(" earlier stage ")"

``a*b`` is ``a + b + a:b``. The intercept ``1`` is included unless ``0`` is written. ``C(first)`` stands for the
indicators of the arm given at stage ``first``.

Indicators are coded as in R. ``C(a)`` within a product has an indicator for each arm, but the first arm is dropped
where the features of an earlier product already add up to the rest of this one. For this, products are taken in the
order of their size, the intercept first. Such an earlier product is the rest itself, or the rest times further
``C(...)``. So ``C(a) + C(b)`` drops the first arm of both stages, and ``0 + C(a) + C(b)`` only that of ``b``.
As in R, a product of arms without the arms alone has one feature too many: ``1 + C(a):C(b)`` has all cells and the
intercept besides. Write ``C(a)*C(b)``.

We differ from R only in products of columns and arms, where its coding is wrong. In ``0 + x + x:C(a)`` R keeps all
arms, one too many. In ``x:z + x:C(a)`` it drops one, although no earlier product adds up to ``x``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.grammar import Reader
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Matrix, Vector


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
Products = dict[frozenset[Factor], tuple[Factor, ...]]  # distinct ones, each with its factors in the order written
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

    @property
    def plain(self) -> bool:
        """Whether each feature is 1 or a column: no products, no arms."""
        return all(len(term) < 2 and not isinstance(factor, Indicator) for term in self.terms for factor in term)

    def row(self, columns: Mapping[str, float], arms: Mapping[str, int]) -> tuple[float, ...]:
        """Return ψ for one unit, given its columns and its arms by stage name."""
        return tuple(
            [
                prod([columns[each[0]] if len(each) == 1 else arms[each[0]] == each[1] for each in term], start=1.0)
                for term in self.terms
            ]
        )

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
    """Return the features that a formula stands for.

    ``earlier`` gives the arms of each earlier stage. ``where`` begins the message of an error.
    """
    reader = Reader(text, where=where)
    products, intercept = _sum(reader, earlier)
    if intercept:
        products = {frozenset(): (), **products}
    if not products:
        reader.reject("a formula needs at least one feature")
    coded = [_choices(factors, _before(factors, products), earlier) for factors in products.values()]
    features = sum(prod(map(len, choices)) for choices in coded)
    if features > MOST_FEATURES:
        raise DesignError(
            f"{where}: a formula may have {MOST_FEATURES} features, found {features} with an indicator for each arm; "
            "leave out products of C(...)"
        )
    return Formula(tuple(term for choices in coded for term in product(*choices)))


def _sum(reader: Reader, earlier: Mapping[str, Sequence[str]]) -> tuple[Products, bool]:
    """Return the distinct products of a formula in order, and whether it has an intercept."""
    products: Products = {}
    written: set[str] = set()
    while True:
        if constant := reader.take_if("0", "1"):
            written.add(constant.text)
            if written == {"0", "1"}:
                reader.reject("write 0 (no intercept) or 1 (intercept), not both", constant)
        else:
            for factors in _term(reader, earlier):
                products.setdefault(frozenset(factors), factors)
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


def _before(factors: tuple[Factor, ...], products: Products) -> list[frozenset[Factor]]:
    """Return the products that come before this one when sorted by size, as R sorts them."""
    own = list(products).index(frozenset(factors))
    return [
        known
        for place, known in enumerate(products)
        if len(known) < len(factors) or (len(known) == len(factors) and place < own)
    ]


def _choices(
    factors: tuple[Factor, ...], before: list[frozenset[Factor]], earlier: Mapping[str, Sequence[str]]
) -> list[list[Column | Indicator]]:
    """Return what each factor of a product becomes: a column itself, ``C(stage)`` the indicators of its arms."""
    choices: list[list[Column | Indicator]] = []
    for factor in factors:
        if isinstance(factor, Column):
            choices.append([factor])
            continue
        skip = int(_accounted_for(frozenset(factors) - {factor}, before))
        labels = earlier[factor.stage]
        choices.append([Indicator(factor.stage, arm, labels[arm]) for arm in range(skip, len(labels))])
    return choices


def _accounted_for(rest: frozenset[Factor], before: list[frozenset[Factor]]) -> bool:
    """Say whether the features of an earlier product add up to ``rest``, as those of ``rest:C(stage)`` do."""
    return any(rest <= known and all(isinstance(each, EarlierArm) for each in known - rest) for known in before)
