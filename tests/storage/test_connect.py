"""Addresses of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import MemoryStore, SQLiteStore, connect, connect_existing, path_of


def test_an_address_leads_to_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert isinstance(connect("memory://"), MemoryStore)
    for address in ("sqlite:///trial.db", f"sqlite:///{tmp_path}/other.db"):
        store = connect(address)
        assert isinstance(store, SQLiteStore)
        store.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.db", "trial.db"]
    assert path_of("sqlite:////data/trial.db") == Path("/data/trial.db")


@pytest.mark.parametrize(
    "address", ["", "trial.db", "sqlite:///", "sqlite://trial.db", "postgres://x", None, "sqlite:///a\0b"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(dtr.DesignError, match="a storage address is sqlite:///"):
        connect(address)


def test_what_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(dtr.NotFound, match="there is no file"):
        connect_existing(f"sqlite:///{tmp_path}/trial.db")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(dtr.Unavailable, match="cannot open"):
        connect(f"sqlite:///{tmp_path}/nowhere/trial.db")
