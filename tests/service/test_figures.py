"""Figures about trials."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dtrbandit.cli.trial_toml import read_trial
from dtrbandit.service.figures import figures
from dtrbandit.service.service import Service
from dtrbandit.storage import Check

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"


def test_the_last_checks_are_among_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    async def told() -> list[str]:
        service, wanted = Service(url), read_trial(EXAMPLE)
        await service.start()
        await service.create(*wanted, actor="me")
        service.store.note_check(Check("verify", "depression", 100.0, False))
        service.store.note_check(Check("backup", "depression", 200.0, True))
        lines = figures(service)
        await service.stop()
        return lines

    lines = asyncio.run(told())

    assert 'dtrbandit_verified_seconds{trial="depression"} 100.0' in lines
    assert 'dtrbandit_verified_ok{trial="depression"} 0.0' in lines
    assert 'dtrbandit_backup_seconds{trial="depression"} 200.0' in lines
    assert 'dtrbandit_log_records{trial="depression"} 1.0' in lines
    assert 'dtrbandit_units_in_flight{trial="depression"} 0.0' in lines
