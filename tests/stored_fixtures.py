"""What commit 78463e0 stored, and what it decided next: ``tests/fixtures/commit_78463e0/README.md`` says what is there.

Nothing there is opened in place: a later release may bring tables up to its own.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import dtrbandit as dtr

FOLDER = Path(__file__).parent / "fixtures/commit_78463e0"


def expected(name: str) -> Any:
    """Return what a JSON file of the folder says."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def unpacked(name: str, folder: Path) -> Path:
    """Return a copy of a compressed file, in another folder."""
    target = folder / Path(name).name.removesuffix(".gz")
    target.write_bytes(gzip.decompress((FOLDER / name).read_bytes()))
    return target


def lines_of(name: str) -> list[str]:
    """Return the lines of a compressed file."""
    return gzip.decompress((FOLDER / name).read_bytes()).decode("ascii").splitlines()


def slug(name: str) -> str:
    """Return how files name a trial."""
    return name.replace(",", "").replace(" ", "_")


def of_this_release(log: list[Any]) -> list[Any]:
    """Return a log of 0.1.0 as if its decisions had the numerics of this release, to have them decided again."""
    opened, *later = log
    return [opened._replace(numerics=dtr.NUMERICS), *later]


def as_told(answer: object) -> object:
    """Return an answer as the files have it. Numbers in JSON are exact."""
    return json.loads(json.dumps(answer._asdict(), default=dict)) if isinstance(answer, dtr.Decision) else None


def tell_again(target: object, calls: list[dict[str, Any]]) -> list[object]:
    """Call the same verbs; return the answers, and "refused" for those that were."""
    answers: list[object] = []
    for call in calls:
        try:
            answers.append(as_told(getattr(target, call["verb"])(**call["given"])))
        except dtr.ProtocolError:
            answers.append("refused")
    return answers


def answers_of(calls: list[dict[str, Any]]) -> list[object]:
    """Return what was answered then."""
    return ["refused" if call["refused"] else call["answer"] for call in calls]
