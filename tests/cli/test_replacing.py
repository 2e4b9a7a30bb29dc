"""A backup takes the place of an earlier one, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli.replacing import replace_copy
from dtrbandit.storage import connect_existing
from trial.small_trial import begun, fill


def begun_at(place: Path, *, name: str = "pilot", seed: int = 1) -> str:
    """Begin a trial in a file; return the address."""
    with begun(f"sqlite:///{place}", name=name, seed=seed) as trial:
        fill(trial, 3)
    return f"sqlite:///{place}"


def copied(url: str, file: Path) -> None:
    store = connect_existing(url)
    store.backup(file)
    store.close()


def replaced(file: Path, url: str) -> None:
    """Replace a file by a copy of a database."""
    store = connect_existing(url)
    try:
        replace_copy(file, url, store)
    finally:
        store.close()


def test_an_earlier_copy_is_replaced(tmp_path: Path) -> None:
    url, copy = begun_at(tmp_path / "trial.db"), tmp_path / "copy.db"
    copied(url, copy)
    with dtr.Trial.open("pilot", storage=url) as trial:
        trial.enroll("later", {"x": 0.5})
        head = trial.head

    replaced(copy, url)

    with dtr.Trial.open("pilot", storage=f"sqlite:///{copy}") as found:
        assert found.head == head


@pytest.mark.parametrize(("name", "seed"), [("another", 1), ("pilot", 2)])
def test_another_database_is_not_replaced(tmp_path: Path, name: str, seed: int) -> None:
    url = begun_at(tmp_path / "trial.db")
    begun_at(tmp_path / "other.db", name=name, seed=seed)
    before = (tmp_path / "other.db").read_bytes()

    with pytest.raises(dtr.DesignError, match="no earlier copy of this database"):
        replaced(tmp_path / "other.db", url)

    assert (tmp_path / "other.db").read_bytes() == before


def test_a_copy_that_is_in_use_is_not_replaced(tmp_path: Path) -> None:
    url, copy = begun_at(tmp_path / "trial.db"), tmp_path / "copy.db"
    copied(url, copy)
    (tmp_path / "copy.db-shm").write_bytes(b"")

    with pytest.raises(dtr.DesignError, match=r"in use: there is copy\.db-shm"):
        replaced(copy, url)


def test_a_file_that_is_no_database_is_not_replaced(tmp_path: Path) -> None:
    url, text = begun_at(tmp_path / "trial.db"), tmp_path / "thesis.txt"
    text.write_text("dear" * 1000)

    with pytest.raises(dtr.DTRError, match=r"thesis\.txt"):
        replaced(text, url)

    assert text.read_text() == "dear" * 1000
