"""The paper's simulation experiments, run again: pictures, tables, and its claims with our measurements."""

from dtrbandit.simulation.reproduce.claims import Claim
from dtrbandit.simulation.reproduce.figure1 import FIGURE as FIGURE1
from dtrbandit.simulation.reproduce.figure2 import FIGURE as FIGURE2
from dtrbandit.simulation.reproduce.reproduction import Figure, Reproduction, reproduce

FIGURES = {figure.name: figure for figure in (FIGURE1, FIGURE2)}

__all__ = ["FIGURES", "Claim", "Figure", "Reproduction", "reproduce"]
