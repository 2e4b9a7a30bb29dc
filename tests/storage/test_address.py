"""Addresses of stores: of which kind they are, and how they may be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import is_postgres, path_of, without_secret


def test_an_address_says_of_which_kind_it_is() -> None:
    assert path_of("sqlite:////data/trial.db") == Path("/data/trial.db")
    assert path_of("memory://") is path_of("postgresql://nurse@db/trials") is None
    assert is_postgres("postgresql://nurse@db/trials")
    assert not is_postgres("sqlite:///postgresql://")


@pytest.mark.parametrize(
    ("address", "as_shown"),
    [
        ("postgresql://nurse@db/trials", "postgresql://nurse@db/trials"),
        ("postgresql://db:5432/trials", "postgresql://db:5432/trials"),
        ("postgresql://nurse:SECRET@db:5432/trials", "postgresql://nurse:***@db:5432/trials"),
        ("postgresql://nurse:SE@RET:SECRET@db/trials", "postgresql://nurse:***@db/trials"),
        ("postgresql://:SECRET@db/trials", "postgresql://:***@db/trials"),
        ("postgresql:///trials?host=/run&password=SECRET", "postgresql:///trials?host=/run&password=***"),
        ("postgresql://db/trials?sslpassword=SECRET&sslmode=require", "postgresql://db/trials?sslpassword=***&sslmode=require"),
    ],
)  # fmt: skip
def test_a_password_is_never_shown(address: str, as_shown: str) -> None:
    assert without_secret(address) == as_shown


def test_an_address_of_no_kind_is_refused_without_its_password() -> None:
    with pytest.raises(dtr.DesignError) as refused:
        path_of("postgres://nurse:SECRET@db/trials")

    assert "SECRET" not in str(refused.value)
    assert "postgresql://user@host/database" in str(refused.value)
