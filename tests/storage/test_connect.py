"""Addresses of stores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import MemoryStore, SQLiteStore, Store, connect, connect_existing, upgrade_tables
from trial.children import run


def test_an_address_leads_to_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert isinstance(connect("memory://"), MemoryStore)
    for address in ("sqlite:///trial.db", f"sqlite:///{tmp_path}/other.db"):
        store = connect(address)
        assert isinstance(store, SQLiteStore)
        store.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.db", "trial.db"]


@pytest.mark.parametrize(
    "address", ["", "trial.db", "sqlite:///", "sqlite://trial.db", "postgres://x", None, "sqlite:///a\0b"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(dtr.DesignError, match="a storage address is sqlite:///"):
        connect(address)


def test_an_address_of_a_server_leads_to_it(postgres: str) -> None:
    for store in (connect(postgres), connect_existing(postgres)):
        assert type(store).__name__ == "PostgresStore"
        store.close()


@pytest.mark.parametrize("open_it", [connect, connect_existing])
def test_an_address_of_a_server_says_which_package_it_needs(
    open_it: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(dtr.DesignError, match=r"pip install 'dtrbandit\[postgres\]'"):
        open_it("postgresql://nurse:SECRET@db/trials")


WITHOUT = """
import sys
import dtrbandit.storage, dtrbandit.cli.commands, dtrbandit.trial
dtrbandit.storage.connect("memory://")
sys.exit("psycopg" in sys.modules)
"""


def test_nobody_else_loads_that_package() -> None:
    run("-c", WITHOUT)


def test_a_file_needs_no_command_to_be_brought_up(tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match="by itself"):
        upgrade_tables(f"sqlite:///{tmp_path}/trial.db", tmp_path / "backup.db")


def test_what_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(dtr.NotFound, match="there is no file"):
        connect_existing(f"sqlite:///{tmp_path}/trial.db")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(dtr.Unavailable, match="cannot open"):
        connect(f"sqlite:///{tmp_path}/nowhere/trial.db")
