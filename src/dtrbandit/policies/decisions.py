"""How a decision is read from the sheet of a rule: what it says of a stage's arms, in labels."""

from __future__ import annotations

from struct import Struct
from typing import Any

from dtrbandit.design.stages import Stage
from dtrbandit.kernels import constants as c
from dtrbandit.record.events import Decision, new
from dtrbandit.record.values import Values, unpacked

BUILT_FROM = c.BUILT_FROM
REASON_NAMES = ("forced", "clear", "close", "greedy", "explore", "optimistic", "uniform", "rule", "only_feasible")
MOST_CACHED = 1024  # pairs of rows


class DecisionReader:
    """Reads decisions at one stage from sheets with room for ``width`` arms."""

    def __init__(self, stage: Stage, width: int) -> None:
        self._stage, self._labels, self._width, count = stage.name, stage.arms, width, len(stage.arms)
        # the rows of Q̃ and of Q̂ for the arms of the stage, and the other two whole
        self._rows = Struct(f"{8 * count}s{8 * (width - count)}x" * 2 + f"{16 * width}s").unpack
        self._cache: dict[bytes, Any] = {}  # what these two say: few of them differ

    def read(self, sheet: Any, unit: str, t: int, arm: int, reason: int) -> Decision:
        """Return the decision that gave a unit this arm, for the reason of this number."""
        tilde, hat, chances = self._rows(sheet)
        found = self._cache.get(chances)
        if found is None:
            found = self._learn(chances)
        propensities, contenders = found
        q_tilde, q_hat = _values(self._labels, tilde), _values(self._labels, hat)
        label, why, chance = self._labels[arm], REASON_NAMES[reason], propensities[arm]
        return new(Decision, (unit, t, self._stage, label, why, chance, q_tilde, q_hat, contenders, ()))

    def _learn(self, chances: bytes) -> tuple[tuple[float, ...], tuple[str, ...]]:
        """Return the propensities and the contenders that two rows say."""
        numbers, labels, width = unpacked(chances), self._labels, self._width
        contends = numbers[width : width + len(labels)]
        found = numbers[: len(labels)], tuple([label for label, yes in zip(labels, contends, strict=True) if yes > 0])
        if len(self._cache) == MOST_CACHED:
            self._cache.clear()
        self._cache[chances] = found
        return found


def _values(labels: tuple[str, ...], packed: bytes) -> Any:
    """Return Values; compiled, in a third of the time that Python takes to call the class."""
    values = new_values(Values)
    values.labels = labels
    values.packed = packed
    return values


new_values: Any = Values.__new__
