"""The policies that come with the package, and the switch between their rules."""

from __future__ import annotations

import dtrbandit as dtr
from dtrbandit.policies.builtin import BUILTIN


def test_all_built_in_policies_are_public() -> None:
    assert all(getattr(dtr, name) is kind for name, kind in BUILTIN.items())
