"""The release, and the number of its numerics."""

__version__ = "0.2.0.dev0"

NUMERICS = 3
"""Raised whenever the same log could lead to another decision (CHANGELOG, Numerics)."""

FORMAT = 3
"""Of logs as text: raised whenever a line may hold what the release before cannot read (docs/adr/0013)."""

RELEASES = {2: "0.1.0", 3: "0.2.0"}  # 1 was never released
"""The newest release for each number of numerics."""
