"""Run kernels as plain Python, as machine code, or as one until a given call and as the other from then on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from dtrbandit.kernels import supply
from dtrbandit.kernels.compile import ENTRIES, Entry

Call = Callable[..., Any]


@contextmanager
def plain() -> Iterator[None]:
    """Run every entry as plain Python."""
    with _calling(lambda entry: entry.run_plain):
        yield


@contextmanager
def compiled() -> Iterator[None]:
    """Run every entry as machine code."""
    machine = machine_calls()
    with _calling(lambda entry: machine[id(entry)]):
        yield


@contextmanager
def switched(after: int) -> Iterator[None]:
    """Run entries as plain Python for so many calls, and as machine code from then on."""
    machine, made = machine_calls(), count()

    def switching(entry: Entry) -> Call:
        return lambda *arguments: (entry.run_plain if next(made) < after else machine[id(entry)])(*arguments)

    with _calling(switching):
        yield


def machine_calls() -> dict[int, Call]:
    """Return the machine code of every entry; skip the test if none is to be made."""
    if not supply.require("the tests", seconds=math.inf):
        pytest.skip("DTRBANDIT_KERNELS=plain: there is no machine code")
    return {id(entry): entry.call for entry in ENTRIES.values()}


@contextmanager
def _calling(choose: Callable[[Entry], Call]) -> Iterator[None]:
    before = {name: entry.call for name, entry in ENTRIES.items()}
    for name in before:
        ENTRIES[name].call = choose(ENTRIES[name])
    try:
        yield
    finally:
        for name, call in before.items():
            ENTRIES[name].call = call
