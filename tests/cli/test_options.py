"""The database that an option names."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtrbandit.cli.options import existing, existing_or_new
from dtrbandit.errors import NotFound


def test_a_database_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    with pytest.raises(NotFound):
        existing(url)
    assert list(tmp_path.iterdir()) == []
    with existing_or_new(url) as store:
        assert store.trials() == []
    with existing(url) as store:
        assert store.trials() == []
