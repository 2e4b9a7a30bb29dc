"""Make ``tests/digests.json`` anew, and say what changed: ``make digests``, or ``python tests/make_digests.py``.

A digest changes only where decisions on the same log do, and then ``NUMERICS`` goes up; or where a run was changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from digest_runs import FILE, Run, all_runs, differences, recorded


def renew(file: Path, runs: Mapping[str, Run]) -> list[str]:
    """Write the digests of runs to a file; return a line for each run that is new, is gone or has changed."""
    before = recorded(file) if file.exists() else {}
    now = {name: run() for name, run in runs.items()}
    lines = [f"  {json.dumps(name)}: {json.dumps(digests)}" for name, digests in now.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return differences(before, now)


if __name__ == "__main__":
    every = all_runs()
    print("\n".join(renew(FILE, every) or [f"None of {len(every)} runs has other digests than before."]))
