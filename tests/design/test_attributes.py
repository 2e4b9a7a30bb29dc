"""What an object holds, and what of its class was written by hand."""

from __future__ import annotations

import copyreg
import threading
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from dtrbandit.design.attributes import is_written, state


@dataclass
class Compared:
    """A dataclass, one of whose fields is only a cache."""

    epsilon: float = 0.1
    cache: list[int] = field(default_factory=list, compare=False)


class Slotted:
    """Attributes in slots, one of which was never set."""

    __slots__ = ("cut", "unset")

    def __init__(self, cut: float) -> None:
        self.cut = cut


class Computing:
    """An attribute that is computed once from another."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    @cached_property
    def twice(self) -> float:
        return 2 * self.epsilon


def test_a_dataclass_holds_the_fields_that_it_compares() -> None:
    assert state(Compared(0.3, [1])) == {"epsilon": 0.3}


def test_an_object_holds_its_attributes_and_slots_but_nothing_computed() -> None:
    computing = Computing(0.1)
    assert computing.twice == 0.2

    assert state(computing) == {"epsilon": 0.1}
    assert state(Slotted(2.0)) == {"cut": 2.0}
    assert state(object()) == {}


def test_an_heir_of_a_dataclass_holds_all_its_attributes() -> None:
    class Heir(Compared):
        pass

    heir = Heir(0.3)
    heir.limit = 1  # type: ignore[attr-defined]  # what an heir may do

    assert state(heir) == {"epsilon": 0.3, "cache": [], "limit": 1}


def test_what_pickling_makes_by_a_call_is_held_by_that_call() -> None:
    assert state(Fraction(1, 2)) == {"made by": Fraction, "made from": (1, 2), "held": []}
    assert state(deque([1, 2], maxlen=3))["held"] == [None, [1, 2]]  # an iterator would be read up only once


def test_a_way_to_pickle_that_was_registered_counts(monkeypatch: Any) -> None:
    monkeypatch.setitem(copyreg.dispatch_table, Slotted, lambda value: (Slotted, (value.cut + 1,)))

    assert state(Slotted(2.0)) == {"made by": Slotted, "made from": (3.0,), "held": []}


def test_what_cannot_be_kept_holds_nothing() -> None:
    assert state(threading.Lock()) == {}


class Shape(Protocol):
    """A protocol, for what Python adds to it."""


@dataclass(frozen=True)
class Mine(ABC):
    """A class with a bit of everything."""

    epsilon: float = 0.1
    unit = 1

    @property
    def share(self) -> float:
        return 0.5

    def __call__(self) -> float:
        return self.epsilon

    @abstractmethod
    def decide(self) -> float: ...

    @staticmethod
    def start() -> int:
        return 0


def test_what_was_written_by_hand_is_told_from_what_python_adds() -> None:
    written = {name for name, value in vars(Mine).items() if is_written(Mine, name, value)}

    assert written == {"unit", "share", "__call__", "decide", "start"}
    assert not [name for name, value in vars(Shape).items() if is_written(Shape, name, value)]


def test_a_special_method_from_elsewhere_was_not_written_here() -> None:
    class Borrowing:
        __eq__ = Fraction.__eq__

    assert not is_written(Borrowing, "__eq__", Fraction.__eq__)
