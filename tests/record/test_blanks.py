"""What stands in the blanks of records: one pass over the bytes against expressions that say the same."""

from __future__ import annotations

import json
import re

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dtrbandit.record.blanks import blanks_of

NUMBERS = re.compile(r"[-0-9][-+.eE0-9]*")


def plainly(text: bytes) -> tuple[bytes, list[str], str]:
    """Return the form of a text, its numbers and its unit, string by string."""
    letters, form, numbers, unit, place = text.decode("latin-1"), "", list[str](), "", 0

    def bare(between: str) -> str:
        numbers.extend(NUMBERS.findall(between))
        return NUMBERS.sub(lambda found: "\x02" if set(found[0]) & set(".eE") else "\x01", between)

    if re.fullmatch(r"[ -\[\]-~]*", letters) is None or letters.count('"') % 2:
        return b"", [], ""
    while (start := letters.find('"', place)) >= 0:
        stop = letters.find('"', start + 1)
        form += bare(letters[place:start])
        key, content = letters[max(start - 7, 0) : start], letters[start + 1 : stop]
        unit = content if key == '"unit":' else unit
        form += '""' if key in ('"unit":', '"time":', 'actor":') else f'"{content}"'
        place = stop + 1
    form += bare(letters[place:])
    return form.encode("latin-1"), numbers, unit


PIECES = st.sampled_from([
    '"unit":"', '"time":"', '"', "unit", ":", ",", "{", "}", "[", "]", "null", "1", "-2.5", "3e5", "1E-7", "+", "-",
    ".", "x", " ", "e", "~", "\x7f", "\n", "ü", "\\", '"actor":"', '{"unit":"u1","x":0.5}', '"sequence":12,',
])  # fmt: skip


@example([[]])
@example([['"unit":"'], ['"', "x"]])
@example([['"unit":'], ['"', "x", '"']])
@given(st.lists(st.lists(PIECES, max_size=12), max_size=5))
def test_blanks_are_found_as_by_expressions(texts: list[list[str]]) -> None:
    given_texts = ["".join(pieces).encode("latin-1") for pieces in texts]
    found = blanks_of(given_texts)
    expected = [plainly(text) for text in given_texts]

    assert found.forms == [form for form, _, _ in expected]
    assert found.counts.tolist() == [len(numbers) for _, numbers, _ in expected]
    assert found.numbers.decode() == f"[{','.join(each for _, numbers, _ in expected for each in numbers)}]"
    assert found.units == [unit for _, _, unit in expected]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_back_as_they_were(numbers: list[float]) -> None:
    texts = [json.dumps({"outcome": number, "unit": "u"}).encode() for number in numbers]

    assert np.array_equal(json.loads(blanks_of(texts).numbers), numbers)
