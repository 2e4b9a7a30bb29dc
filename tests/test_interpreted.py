"""Which work waits for machine code: what would take longer without it."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.interpreted import compile_elsewhere_for, compile_for, interpreted_seconds
from dtrbandit.kernels import supply

DESIGN = Synthetic().design


class OwnPolicy:
    """A policy without kernels."""


def test_more_units_arms_features_and_stages_take_longer() -> None:
    wide = dtr.Design([dtr.Stage(name, ("a", "b", "c"), f"1 + {name}1 + {name}2") for name in ("first", "second")])
    little = interpreted_seconds([dtr.Greedy()], DESIGN, units=100)

    assert little < interpreted_seconds([dtr.Greedy()], DESIGN, units=200)
    assert little < interpreted_seconds([dtr.Greedy()], wide, units=100)
    assert 2 * little == interpreted_seconds([dtr.Greedy(), dtr.Greedy()], DESIGN, units=100)


def test_lsvi_ucb_looks_at_all_units_for_each_unless_it_switches_rarely() -> None:
    every, rare = dtr.LSVIUCB(beta=1.0), dtr.LSVIUCB(beta=1.0, switching="rare")

    assert interpreted_seconds([every], DESIGN, units=10_000) > 10 * interpreted_seconds([rare], DESIGN, units=10_000)


def test_a_policy_of_ones_own_takes_no_time_in_kernels() -> None:
    own: Any = OwnPolicy()

    assert interpreted_seconds([own], DESIGN, units=10**6) == 0


def test_work_says_how_long_it_would_take_here_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    for name in ("require", "provide"):
        monkeypatch.setattr(supply, name, lambda *what, _name=name, **more: asked.append((_name, *what, more)))

    for wait in (compile_for, compile_elsewhere_for):
        wait("the study", [dtr.Greedy()], DESIGN, units=1_000, times=20, entries=[])

    work = "the study", {"seconds": pytest.approx(20 * 0.4), "entries": []}
    assert asked == [("require", *work), ("provide", *work)]
