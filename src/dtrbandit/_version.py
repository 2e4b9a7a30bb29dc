"""The release, and the number of its numerics."""

__version__ = "0.1.0"

NUMERICS = 1
"""Raised whenever the same log could lead to another decision (CHANGELOG, Numerics)."""

RELEASES = {1: "0.1.0"}
"""The newest release for each number of numerics."""
