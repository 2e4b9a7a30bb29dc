"""Work that cannot fit into memory is refused before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.memory import IN_PYTHON, memory, require_memory, state_bytes
from small_session import FAIR, Says


def test_this_machine_has_some_memory_and_not_every_amount() -> None:
    assert memory() > 1e8

    require_memory(10**6, "a little", remedy="none")


def test_the_limit_of_a_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("2000000000\n")
    monkeypatch.setattr("dtrbandit.memory.LIMIT", tmp_path / "memory.max")

    with pytest.raises(dtr.DesignError, match="it needs at least 3 GB of memory, and there are 2; take less"):
        require_memory(3 * 10**9, "it", remedy="take less")
    (tmp_path / "memory.max").write_text("max\n")
    require_memory(1, "it", remedy="take less")


def test_a_state_keeps_at_least_the_features_and_the_outcome_of_each_unit() -> None:
    design = Synthetic().design

    kept = state_bytes(dtr.Greedy(), design)

    assert kept >= 8 * (sum(design.dimensions) + 1)
    assert state_bytes(Says(FAIR), design) == IN_PYTHON
