"""A snapshot as bytes: what goes in comes out, and whatever is changed is refused."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import dtrbandit as dtr
from dtrbandit.record import snapshot
from dtrbandit.record.snapshot import DIGEST, LENGTH, MAGIC, VERSION, Snapshot, joined, parted

DTYPES = ["<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1", ">f8"]
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(st.text(min_size=1).filter(lambda name: name not in ("version", "arrays")), plain, max_size=4)
arrays = st.dictionaries(
    st.text(),
    st.sampled_from(DTYPES).flatmap(
        lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=4,
)


def small() -> Snapshot:
    return Snapshot({"sequence": 3, "é": [None, "text"]}, {"beta": np.array([1.5]), "rows": np.zeros((0, 2), np.int64)})


@given(headers, arrays)
def test_what_goes_in_comes_out_bit_for_bit(header: dict[str, Any], content: dict[str, Any]) -> None:
    found = Snapshot.from_bytes(Snapshot(header, content).to_bytes())

    assert found.header == header
    assert list(found.arrays) == list(content)
    for name, array in content.items():
        own = found.arrays[name]
        assert (own.dtype, own.shape, own.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 5), (5, 0), (2, 3, 4)], ids=str)
def test_every_kind_and_shape_of_array_comes_out(kind: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)

    found = Snapshot.from_bytes(Snapshot({}, {"before": np.ones(3, "|i1"), "own": array}).to_bytes()).arrays["own"]

    assert (found.dtype.str, found.shape) == (kind, shape)
    assert found.tolist() == array.tolist()


def test_arrays_whose_entries_do_not_lie_side_by_side_come_out_in_order() -> None:
    array = np.arange(24.0).reshape(4, 6)

    found = Snapshot.from_bytes(Snapshot({}, {"part": array[::2, 1::2], "other": array.T}).to_bytes())

    assert found.arrays["part"].tolist() == array[::2, 1::2].tolist()
    assert found.arrays["other"].tolist() == array.T.tolist()


def test_numbers_that_are_no_number_or_infinite_come_out() -> None:
    numbers = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])

    assert Snapshot.from_bytes(Snapshot({}, {"x": numbers}).to_bytes()).arrays["x"].tobytes() == numbers.tobytes()


def test_arrays_begin_where_a_processor_reads_them_at_once_and_cannot_be_written_to() -> None:
    content = Snapshot({"name": "x"}, {"odd": np.ones(3, "|i1"), "beta": np.arange(5.0)}).to_bytes()

    found = Snapshot.from_bytes(content)

    assert (len(MAGIC) + LENGTH + int.from_bytes(content[len(MAGIC) : len(MAGIC) + LENGTH], "little")) % 8 == 0
    with pytest.raises(ValueError, match="read-only"):
        found.arrays["beta"][0] = 2.0


def test_every_flipped_bit_is_found() -> None:
    content = small().to_bytes()
    passed = []

    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            try:
                Snapshot.from_bytes(bytes(damaged))
            except dtr.LogError:
                continue
            passed.append((place, bit))

    assert passed == []
    assert Snapshot.from_bytes(content).header == small().header


def test_every_truncation_and_what_was_added_is_found() -> None:
    content = small().to_bytes()

    for length in range(len(content)):
        with pytest.raises(dtr.LogError, match="damaged, or no snapshot"):
            Snapshot.from_bytes(content[:length])
    for more in (b"\0", b" ", b"\n" * 40, content):
        with pytest.raises(dtr.LogError, match="damaged, or no snapshot"):
            Snapshot.from_bytes(content + more)


def test_what_is_whole_and_no_snapshot_is_refused() -> None:
    body = b"another kind of file\n" + bytes(100)

    with pytest.raises(dtr.LogError, match="no snapshot"):
        Snapshot.from_bytes(body + sha256(body).digest())


def test_that_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "VERSION", VERSION + 1)
    content = small().to_bytes()
    monkeypatch.undo()

    with pytest.raises(dtr.LogError, match="another release wrote it"):
        Snapshot.from_bytes(content)


def test_no_code_is_in_it() -> None:
    """The header is JSON, and arrays are raw: an array of objects, which would have to be pickled, is refused."""
    content = small().to_bytes()
    start = len(MAGIC) + LENGTH
    end = start + int.from_bytes(content[len(MAGIC) : start], "little")

    assert json.loads(content[start:end])["sequence"] == 3
    assert len(content) == end + 8 + DIGEST
    objects = Snapshot({}, {"x": np.array([object()])}).to_bytes()
    with pytest.raises(ValueError, match="OBJECT"):
        Snapshot.from_bytes(objects)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1), max_size=8))
def test_texts_are_joined_and_parted_again(texts: list[str]) -> None:
    assert parted(joined(texts)) == texts
