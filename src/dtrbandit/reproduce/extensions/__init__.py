"""What the paper proves or mentions and does not show: delay, arms, stages, margin, embedding, wrong features.

Every module here is an extension, by its name: it ends with its ``EXTENSION``.
"""

from importlib import import_module
from pkgutil import iter_modules

from dtrbandit.reproduce.reproduction import Extension, Setting

ORDER = ("delay", "arms", "stages", "margin", "one_stage", "features")  # others follow, by name
NAMES = (*ORDER, *sorted({module.name for module in iter_modules(__path__)} - set(ORDER)))
EXTENSIONS: dict[str, Extension] = {name: import_module(f"{__name__}.{name}").EXTENSION for name in NAMES}
EXPERIMENTS = EXTENSIONS

__all__ = ["EXPERIMENTS", "EXTENSIONS", "NAMES", "Extension", "Setting"]
