"""Trials from files."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli.trial_toml import read_trial

EXAMPLES = Path(__file__).parents[2] / "examples"
STAGE = '[[stage]]\nname = "only"\narms = ["a", "b"]\nfeatures = "1 + x"\n'
POLICY = '[policy]\nname = "Greedy"\n'


def test_the_example_can_be_created_and_locked() -> None:
    name, design, policy = read_trial(EXAMPLES / "trial.toml")

    trial = dtr.Trial.create(name, design, policy, storage="memory://")
    trial.lock(actor="me", reason="approved")

    assert (trial.name, trial.phase) == ("depression", "live")


def test_the_example_explains_every_entry_where_it_first_stands() -> None:
    lines = (EXAMPLES / "trial.toml").read_text(encoding="utf-8").splitlines()
    explained, seen = set(), set()
    for before, line in zip(["", *lines], lines, strict=False):
        if found := re.match(r"(?:# )?(\w+) = ", line):
            key = found[1]
            seen.add(key)
            explained |= {key} if "#" in line or before.startswith("#") or before == "[policy]" else set()

    assert seen == explained
    allowed = {each.name for kind in (dtr.Stage, dtr.DTRBandit) for each in fields(kind)} | {"name", "plans"}
    assert seen == allowed


def test_a_design_may_stand_in_a_file_beside(tmp_path: Path) -> None:
    (tmp_path / "trial.toml").write_text(f'name = "t"\ndesign = "design.toml"\n{POLICY}')
    (tmp_path / "design.toml").write_text(STAGE)

    assert read_trial(tmp_path / "trial.toml").design == dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])


REFUSED = {
    "no name": (POLICY + STAGE, "'name' is missing"),
    "no policy": ('name = "t"\n' + STAGE, "'policy' is missing"),
    "no design": ('name = "t"\n' + POLICY, "stage"),
    "two designs": (f'name = "t"\ndesign = "x"\n{POLICY}{STAGE}', "line 2: a trial has one design"),
    "another entry": (f'name = "t"\nseed = 1\n{POLICY}{STAGE}', "line 2: unknown entry 'seed'"),
    "a name that is a number": (f"name = 1\n{POLICY}{STAGE}", "line 1: name must be a text"),
    "an unknown policy": ('name = "t"\n[policy]\nname = "Gready"\n' + STAGE, "line 3: unknown policy 'Gready'"),
    "a policy that does not fit": (
        'name = "t"\n[policy]\nname = "DTRBandit"\nq = 1\ndelta = [1.0, 2.0]\n' + STAGE,
        "line 2: .*delta",
    ),
    "a design that is no name": (f'name = "t"\ndesign = 3\n{POLICY}', "line 2: design must be the name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_error_names_the_line(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    (tmp_path / "trial.toml").write_text(text)

    with pytest.raises(dtr.DesignError, match=message):
        read_trial(tmp_path / "trial.toml")
