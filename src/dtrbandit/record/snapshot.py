"""A snapshot as bytes: a JSON header, raw arrays, and a SHA-256 over both. No code can be in it.

It holds what a log leads to at one record, so that opening a trial need not read all records before it. It is a cache:
the log alone decides, and whatever is wrong with a snapshot means that it is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import LogError

MAGIC = b"dtrbandit snapshot\n"
VERSION = 2  # of what a header and its arrays hold
LENGTH = 8  # bytes that say how long the header is
DIGEST = sha256().digest_size
ALIGNED = 8  # bytes: where arrays begin


class Snapshot(NamedTuple):
    """Plain values and arrays, by name."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def to_bytes(self) -> bytes:
        """Return it as bytes."""
        entries, parts, place = [], list[bytes](), 0
        for name, array in self.arrays.items():
            raw = np.ascontiguousarray(array).tobytes()
            entries.append([name, array.dtype.str, list(array.shape), place])
            parts.append(raw + bytes(-len(raw) % ALIGNED))
            place += len(parts[-1])
        header = json.dumps({"version": VERSION, "arrays": entries, **self.header}, separators=(",", ":")).encode()
        header += b" " * (-(len(MAGIC) + LENGTH + len(header)) % ALIGNED)
        body = b"".join([MAGIC, len(header).to_bytes(LENGTH, "little"), header, *parts])
        return body + sha256(body).digest()

    @staticmethod
    def from_bytes(content: bytes) -> Snapshot:
        """Return the snapshot that ``to_bytes`` wrote. Its arrays cannot be written to.

        Examples
        --------
        >>> found = Snapshot.from_bytes(Snapshot({"sequence": 3}, {"beta": np.array([1.0, 2.5])}).to_bytes())
        >>> found.header["sequence"], found.arrays["beta"].tolist()
        (3, [1.0, 2.5])
        """
        body, start = memoryview(content)[:-DIGEST], len(MAGIC) + LENGTH
        if len(content) < start + DIGEST or sha256(body).digest() != content[-DIGEST:] or body[: len(MAGIC)] != MAGIC:
            raise LogError("it is damaged, or no snapshot")
        end = start + int.from_bytes(body[len(MAGIC) : start], "little")
        header = json.loads(bytes(body[start:end]))
        if header.pop("version") != VERSION:
            raise LogError("another release wrote it")
        arrays = {}
        for name, kind, shape, place in header.pop("arrays"):
            array = np.zeros(shape, kind)
            raw = body[end + place : end + place + array.nbytes]
            arrays[name] = np.frombuffer(raw, kind).reshape(shape) if array.size else array
        return Snapshot(header, arrays)


def joined(texts: list[str]) -> NDArray[np.uint8]:
    """Return texts without line breaks as one array of bytes."""
    return np.array(bytearray("\n".join(texts).encode()), dtype=np.uint8)


def parted(array: NDArray[np.uint8]) -> list[str]:
    """Return the texts that ``joined`` made one array of; none of them was empty."""
    text = array.tobytes().decode()
    return text.split("\n") if text else []
