"""Log files: whole, in order, and with a chain that shows every change."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import linked, unlinked
from dtrbandit.record.log_file import line_of, stored_of, write_records
from record.plain_log import plain_text
from small_session import some_session

LOG = some_session().log
FLIPS = 300  # benchmarks/soak.py has thousands


def written(path: Path) -> bytes:
    dtr.write_log(path, LOG)
    return path.read_bytes()


def test_a_log_file_is_json_lines_with_a_chain(tmp_path: Path) -> None:
    lines = written(tmp_path / "log").splitlines()

    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, len(LOG) + 1))
    assert {(json.loads(line)["actor"], json.loads(line)["time"]) for line in lines} == {(None, None)}
    assert [record.event for record in unlinked(map(stored_of, lines))] == LOG
    assert [line_of(stored_of(line)) for line in lines] == lines


def test_records_of_a_trial_are_written_as_they_are_stored(tmp_path: Path) -> None:
    records = list(unlinked(map(stored_of, written(tmp_path / "log").splitlines())))
    signed = list(linked(record._replace(actor="nurse") for record in records))

    write_records(tmp_path / "signed", signed)

    assert dtr.read_log(tmp_path / "signed") == LOG
    assert [stored_of(line) for line in (tmp_path / "signed").read_bytes().splitlines()] == signed


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path, rng = tmp_path / "log", random.Random(0)
    whole = written(path)
    lines = whole.splitlines(keepends=True)
    for _ in range(FLIPS):
        place = rng.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        line = whole[:place].count(b"\n") + 1

        with pytest.raises(dtr.LogError, match=f"line {line}:"):
            dtr.read_log(path)
    assert len(lines) == len(LOG)


@pytest.mark.parametrize("edit", ["deleted", "swapped", "twice"])
def test_a_line_that_is_lost_moved_or_there_twice_is_named(edit: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = written(path).splitlines(keepends=True)
    for k in range(len(lines) - 1):
        changed = {
            "deleted": lines[:k] + lines[k + 1 :],
            "swapped": [*lines[:k], lines[k + 1], lines[k], *lines[k + 2 :]],
            "twice": lines[: k + 1] + lines[k:],
        }[edit]
        path.write_bytes(b"".join(changed))

        with pytest.raises(dtr.LogError, match=f"line {k + 1 + (edit == 'twice')}:"):
            dtr.read_log(path)


def test_a_line_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(written(path)[:-1])

    with pytest.raises(dtr.LogError, match=f"line {len(LOG)}: the log is cut off"):
        dtr.read_log(path)


def test_logs_of_the_release_before_are_read_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(plain_text(LOG))

    assert dtr.read_log(path) == LOG
    assert dtr.Session.resume(dtr.read_log(path)).log == LOG


@pytest.mark.parametrize("first", ["plain", "chained"])
def test_plain_and_chained_lines_do_not_mix(first: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    chained, plain = written(path).splitlines(keepends=True), plain_text(LOG).encode().splitlines(keepends=True)
    one, other = (plain, chained) if first == "plain" else (chained, plain)
    path.write_bytes(b"".join(one[:3] + other[3:]))

    with pytest.raises(dtr.LogError, match="line 4:"):
        dtr.read_log(path)


def test_a_plain_log_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = plain_text(LOG).encode().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"event", b"\xe4")
    path.write_bytes(b"".join(lines))

    with pytest.raises(dtr.LogError, match="line 5: not valid UTF-8"):
        dtr.read_log(path)


def test_an_empty_file_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"")

    assert dtr.read_log(tmp_path / "log") == []
