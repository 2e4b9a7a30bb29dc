"""The features ψ of a unit, from the contexts on record."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.errors import ObservationError
from dtrbandit.record.values import Values

Context = Values[float]
ONE = Values(("1",), (1.0,)).packed


def features_at(design: Design, unit: str, m: int, contexts: tuple[Context, ...], arms: tuple[int, ...]) -> Vector:
    """Return ψ_m, given the contexts up to stage ``m`` and the arms before it; refuse values out of range."""
    features, _, _, pieces = design.parsed[m]
    if pieces is not None:  # each feature is 1 or a column
        packed = ONE
        for context in contexts:
            packed += context.packed
        return np.frombuffer(packed[pieces[0]] if len(pieces) == 1 else b"".join(map(packed.__getitem__, pieces)))
    row = features.row(columns_of(contexts), {design.stages[k].name: arms[k] for k in range(m)})
    if not all(-LARGEST <= value <= LARGEST for value in row):
        raise ObservationError(
            f"unit {unit!r}, stage {design.stages[m].name!r}: features must be finite and at most {LARGEST:g} in "
            f"size, found {dict(zip(features.names, row, strict=True))}"
        )
    vector = np.array(row)
    vector.setflags(write=False)
    return vector


def all_features(design: Design, unit: str, contexts: tuple[Context, ...], arms: tuple[int, ...]) -> tuple[Vector, ...]:
    """Return ψ for every stage whose columns are all known."""
    return tuple(
        features_at(design, unit, m, contexts[: m + 1], arms)
        for m, context in enumerate(contexts)
        if len(context) == len(design.columns[m])
    )


def columns_of(contexts: Iterable[Context]) -> dict[str, float]:
    """Return all columns of some contexts."""
    return dict(chain.from_iterable([context.pairs() for context in contexts]))
