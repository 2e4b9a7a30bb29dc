"""What the paper proves or mentions and does not show: delay, arms, stages, margin, embedding, wrong features.

An extension of ``NAMES`` is the ``EXTENSION`` of the module of that name.
"""

from importlib import import_module

from dtrbandit.reproduce.reproduction import Extension, Setting

NAMES = ("delay", "arms", "stages", "margin", "one_stage", "features")
EXTENSIONS: dict[str, Extension] = {name: import_module(f"{__name__}.{name}").EXTENSION for name in NAMES}
EXPERIMENTS = EXTENSIONS

__all__ = ["EXPERIMENTS", "EXTENSIONS", "NAMES", "Extension", "Setting"]
