"""Units that a cohort leaves out because a covariate of theirs is blank, and how many lack which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

Missing = Literal["refuse", "drop"]  # what to do about a unit without a covariate that it needs


@dataclass(frozen=True)
class LeftOut:
    """The units that were left out, by ``missing="drop"``.

    Attributes
    ----------
    units
        Their ids.
    columns
        How many of them lack each column, in the design's order; a unit may lack several.

    Examples
    --------
    >>> print(LeftOut(("u7", "u9"), {"age": 2, "weight": 1}))
    Left out, because a covariate is blank that a stage of theirs needs:
           2  units
             2  without 'age'
             1  without 'weight'
    """

    units: tuple[str, ...] = ()
    columns: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        if not self.units:
            return "Left out: nobody."
        lines = [
            "Left out, because a covariate is blank that a stage of theirs needs:",
            f"  {len(self):>6,}  unit{'' if len(self) == 1 else 's'}",
        ]
        return "\n".join([*lines, *(f"    {count:>6,}  without {name!r}" for name, count in self.columns.items())])


def require_missing(missing: object) -> None:
    """Refuse what is no way to go about missing values."""
    if not (isinstance(missing, str) and missing in get_args(Missing)):
        raise DesignError(
            f"missing must be 'refuse', so that a blank covariate is an error, or 'drop', so that its unit is left out "
            f"and counted; found {shown(missing)}"
        )
