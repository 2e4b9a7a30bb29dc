"""Which experiments a name stands for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dtrbandit.errors import DesignError
from dtrbandit.reproduce import NAMES
from dtrbandit.reproduce.reproduction import Experiment, Figure
from dtrbandit.reproduce.table1 import TABLE1

EXPERIMENTS: dict[str, dict[str, Experiment]] = {
    name: import_module(f"dtrbandit.reproduce.{name}").EXPERIMENTS for name in NAMES
}
FIGURES: dict[str, Figure] = {
    name: figure
    for name, (figure, *_) in zip(EXPERIMENTS, map(dict.values, EXPERIMENTS.values()), strict=True)
    if isinstance(figure, Figure)
}


def experiments(what: str, *, data: Path | None = None) -> dict[str, dict[str, Experiment]]:
    """Return what a name stands for, ``"all"`` for everything; ``data`` are the patients of Table 1."""
    chosen = EXPERIMENTS if what == "all" else {what: EXPERIMENTS[what]}
    if data is None:
        return chosen
    if TABLE1.name not in chosen:
        raise DesignError(f"{what} is simulated and takes no data; they are for {TABLE1.name}")
    return {**chosen, TABLE1.name: {".": TABLE1.on(data)}}
