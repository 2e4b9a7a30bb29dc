"""How the sheet of a decision is read: what it says of a stage's arms, in labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from dtrbandit.design.stages import Stage
from dtrbandit.record.values import unpacked

Said = tuple[tuple[float, ...], tuple[str, ...]]  # propensities, and the labels of the contenders
DIFFERENT = 1024  # pairs of rows that are remembered, at most


class Form(NamedTuple):
    """The names of a stage, and what reads a sheet.

    Attributes
    ----------
    read
        Gives the rows of Q̃ and of Q̂ as bytes, for the arms of the stage, and the other two rows whole.
    said
        Tells what these two rows say. Few of them differ.
    """

    stage: str
    labels: tuple[str, ...]
    read: Callable[[Any], tuple[bytes, bytes, bytes]]
    said: Callable[[bytes], Said]


def form_of(stage: Stage, width: int) -> Form:
    """Return the form of a stage for sheets with room for ``width`` arms."""
    labels, count = stage.arms, len(stage.arms)
    rows: Any = Struct(f"{8 * count}s{8 * (width - count)}x" * 2 + f"{16 * width}s")

    @lru_cache(DIFFERENT)
    def said(chances: bytes) -> Said:
        numbers = unpacked(chances)
        contenders = zip(labels, numbers[width : width + count], strict=True)
        return numbers[:count], tuple([label for label, contends in contenders if contends > 0])

    return Form(stage.name, labels, rows.unpack, said)
