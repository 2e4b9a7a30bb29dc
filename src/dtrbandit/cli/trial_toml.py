"""Trials described in a TOML file; ``examples/trial.toml`` explains every entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from dtrbandit.design import Design
from dtrbandit.design.toml_text import TomlText, from_table, unknown
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import BUILTIN

ENTRIES = ["name", "policy", "design", "plans", "stage"]
OWN_DESIGN = ("plans", "stage")


class TrialFile(NamedTuple):
    """What a trial is to be."""

    name: str
    design: Design
    policy: Policy[Any]


def read_trial(path: str | Path) -> TrialFile:
    """Read and check a trial file; an error names the line, and what is allowed there."""
    text = TomlText.read(Path(path), what="the trial")
    for key in text.tables:
        with text.at(key):
            if key not in ENTRIES:
                raise unknown("entry", key, ENTRIES)
    for key in ("name", "policy"):
        if key not in text.tables:
            raise DesignError(f"{text.file}: {key!r} is missing; a trial needs a name, a policy and a design")
    with text.at("name"):
        name = text.tables["name"]
        if not isinstance(name, str):
            raise DesignError(f"name must be a text, found {shown(name)}")
    design = _design(text)
    policy = from_table(text, BUILTIN, "policy", "policy")
    with text.at("policy"):
        policy.init(design)
    return TrialFile(name, design, policy)


def _design(text: TomlText) -> Design:
    own = {key: text.tables[key] for key in OWN_DESIGN if key in text.tables}
    if "design" not in text.tables:
        with text.at(*list(own)[-1:]):
            return Design.from_dict(own)
    with text.at("design"):
        name = text.tables["design"]
        if own:
            raise DesignError(f"a trial has one design: the file, or {' and '.join(own)} here, not both")
        if not isinstance(name, str):
            raise DesignError(f"design must be the name of a design file, from this file's folder, found {shown(name)}")
        return Design.from_toml(text.file.parent / name)
