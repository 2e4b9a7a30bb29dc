"""Designs: stages, formulas, feasible plans and the forced-pull schedule (paper, sections 2 and 3)."""

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage

__all__ = ["Design", "Stage"]
