"""Logs as the release before wrote them: no hashes, and the number of an event among its own entries."""

from __future__ import annotations

import json
from collections.abc import Iterable

from dtrbandit.record.codec import encode
from dtrbandit.record.events import Event


def plain_text(log: Iterable[Event]) -> str:
    lines = [{**json.loads(encode(event)), "sequence": number} for number, event in enumerate(log, 1)]
    return "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)
