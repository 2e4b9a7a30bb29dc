"""What the texts of records of one form differ in: numbers, the names of a unit and an actor, and a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.compile import kernel
from dtrbandit.record.bundle import Integers

Bytes = NDArray[np.uint8]

WHOLE, DECIMAL = 1, 2  # stand in a form for a whole number, and for one with a point or an exponent
QUOTE, BACKSLASH, COLON, COMMA = (ord(each) for each in '"\\:,')
ZERO, NINE, MINUS, PLUS, POINT, BIG_E, SMALL_E = (ord(each) for each in "09-+.Ee")
FIRST_PLAIN, LAST_PLAIN = ord(" "), ord("~")
BEFORE_UNIT, BEFORE_TIME, BEFORE_ACTOR = (int.from_bytes(each, "big") for each in (b'"unit":', b'"time":', b'actor":'))
FORM_END, NUMBERS, UNIT, UNIT_END = range(4)  # columns of what is found


class Blanks(NamedTuple):
    """What texts hold.

    Attributes
    ----------
    forms
        Each text without them: ``WHOLE`` or ``DECIMAL`` in the place of a number, nothing in that of a name or a time.
        Nothing at all for a text with an escape, a letter beyond ASCII, or a string that does not end; it has no
        numbers and no unit either.
    counts
        How many numbers each has.
    numbers
        All of them, as a JSON list.
    units
        The name of each text's unit; nothing if it has none.
    """

    forms: list[bytes]
    counts: Integers
    numbers: bytes
    units: list[str]


def blanks_of(texts: list[bytes]) -> Blanks:
    r"""Return what stands in the blanks of texts.

    Examples
    --------
    >>> blanks_of([b'{"outcome":2.5,"round":12,"unit":"u1"}'])
    Blanks(forms=[b'{"outcome":\x02,"round":\x01,"unit":""}'], counts=array([2]), numbers=b'[2.5,12]', units=['u1'])
    """
    joined = b"".join(texts)
    ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    forms, numbers = (np.empty(len(joined) + len(texts), dtype=np.uint8) for _ in range(2))
    found = np.zeros((len(texts), 4), dtype=np.int64)
    size = find_blanks.call(np.frombuffer(joined, dtype=np.uint8).copy(), ends, forms, numbers, found)
    bare, stops, letters = forms.tobytes(), found[:, FORM_END].tolist(), joined.decode("latin-1")
    return Blanks(
        [bare[start:stop] for start, stop in zip([0, *stops], stops, strict=False)],
        found[:, NUMBERS],
        b"[" + numbers[: max(size - 1, 0)].tobytes() + b"]",
        [letters[start:stop] for start, stop in found[:, UNIT:].tolist()],
    )


@kernel(entry="uint8[::1], int64[::1], uint8[::1], uint8[::1], int64[:, ::1]")
def find_blanks(texts: Bytes, ends: Integers, forms: Bytes, numbers: Bytes, found: Integers) -> int:
    """Write the forms of texts, which are joined, and their numbers, each with a comma; return the size of these."""
    place = form_end = size = 0
    for t in range(ends.size):
        begin, end = place, ends[t]
        place = begin if is_plain(texts, begin, end) else end
        while place < end:
            stop = place + 1
            if texts[place] == QUOTE:
                stop = end_of_string(texts, place, end)
                before = seven_before(texts, begin, place)
                if before == BEFORE_UNIT:
                    found[t, UNIT], found[t, UNIT_END] = place + 1, stop - 1
                if before in (BEFORE_UNIT, BEFORE_TIME, BEFORE_ACTOR):
                    forms[form_end : form_end + 2] = QUOTE
                    form_end += 2
                else:
                    form_end = copy(texts, place, stop, forms, form_end)
            elif texts[place] == MINUS or ZERO <= texts[place] <= NINE:
                stop = end_of_number(texts, place, end)
                forms[form_end] = kind_of_number(texts, place, stop)
                form_end += 1
                size = copy(texts, place, stop, numbers, size)
                numbers[size] = COMMA
                size += 1
                found[t, NUMBERS] += 1
            else:
                form_end = copy(texts, place, stop, forms, form_end)
            place = stop
        found[t, FORM_END] = form_end
    return size


@kernel
def copy(source: Bytes, start: int, stop: int, target: Bytes, place: int) -> int:
    """Copy bytes to a place; return the place after them."""
    for i in range(start, stop):
        target[place + i - start] = source[i]
    return place + stop - start


@kernel
def end_of_string(texts: Bytes, place: int, end: int) -> int:
    """Return the place after the quote that ends the string which begins at a place."""
    place += 1
    while place < end and texts[place] != QUOTE:
        place += 1
    return min(place + 1, end)


@kernel
def end_of_number(texts: Bytes, place: int, end: int) -> int:
    """Return the place after the bytes of a number; it may be none, which is found when it is read."""
    while place < end and (ZERO <= texts[place] <= NINE or texts[place] in (MINUS, PLUS, POINT, BIG_E, SMALL_E)):
        place += 1
    return place


@kernel
def kind_of_number(texts: Bytes, start: int, stop: int) -> int:
    """Say whether a number is whole."""
    for i in range(start, stop):
        if texts[i] in (POINT, BIG_E, SMALL_E):
            return DECIMAL
    return WHOLE


@kernel
def seven_before(texts: Bytes, begin: int, place: int) -> int:
    """Return the seven bytes before a place as one number; 0 if there are fewer, or the last is no colon."""
    word = 0
    if place - begin >= 7 and texts[place - 1] == COLON:
        for i in range(place - 7, place):
            word = 256 * word + int(texts[i])
    return word


@kernel
def is_plain(texts: Bytes, start: int, stop: int) -> bool:
    """Say whether a text is of plain letters, without an escape, and each of its strings ends."""
    inside = False
    for i in range(start, stop):
        if texts[i] < FIRST_PLAIN or texts[i] > LAST_PLAIN or texts[i] == BACKSLASH:
            return False
        inside = inside != (texts[i] == QUOTE)
    return not inside
