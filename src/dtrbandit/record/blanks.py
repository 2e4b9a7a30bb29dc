"""What the texts of records of one form differ in: numbers, the names of a unit and an actor, and a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.kernels import constants as c
from dtrbandit.record.bundle import Integers

BUILT_FROM = c.BUILT_FROM


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
    finder = Finder(joined, ends)
    finder.find()
    found, numbers = np.asarray(finder.found), np.asarray(finder.numbers)[: max(finder.size - 1, 0)]
    bare, stops, letters = np.asarray(finder.forms).tobytes(), found[:, c.FORM_END].tolist(), joined.decode("latin-1")
    return Blanks(
        [bare[start:stop] for start, stop in zip([0, *stops], stops, strict=False)],
        found[:, c.NUMBERS],
        b"[" + numbers.tobytes() + b"]",
        [letters[start:stop] for start, stop in found[:, c.UNIT :].tolist()],
    )


class Finder:
    """Finds what stands in the blanks of texts, which are joined and have these ends.

    Attributes
    ----------
    forms, numbers
        The forms of the texts, and their numbers, each with a comma; ``size`` is that of the latter.
    found
        (texts, 4): for each where its form ends, how many numbers it has, and where its unit begins and ends.
    """

    def __init__(self, texts: bytes, ends: Integers) -> None:
        self.texts, self.ends, self.count = texts, ends, len(ends)
        self.forms = np.empty(len(texts) + len(ends), dtype=np.uint8)
        self.numbers = np.empty(len(texts) + len(ends), dtype=np.uint8)
        self.found = np.zeros((len(ends), 4), dtype=np.int64)
        self.form_end, self.size = 0, 0

    def find(self) -> None:
        """Go through all texts."""
        begin = 0
        for t in range(self.count):
            end = self.ends[t]
            if self.is_plain(begin, end):
                self.read(t, begin, end)
            self.found[t, c.FORM_END] = self.form_end
            begin = end

    def read(self, t: int, begin: int, end: int) -> None:
        """Write the form of a plain text, and its numbers."""
        place = begin
        while place < end:
            letter = self.texts[place]
            if letter == c.QUOTE:
                stop = self.end_of_string(place, end)
                self.read_string(t, begin, place, stop)
            elif letter == c.MINUS or c.ZERO <= letter <= c.NINE:
                stop = self.end_of_number(place, end)
                self.read_number(t, place, stop)
            else:
                stop = place + 1
                self.forms[self.form_end] = letter
                self.form_end += 1
            place = stop

    def read_string(self, t: int, begin: int, place: int, stop: int) -> None:
        """Write a string into the form: empty, if it is the name of a unit or an actor, or a time."""
        before = self.seven_before(begin, place)
        if before == c.BEFORE_UNIT:
            self.found[t, c.UNIT] = place + 1
            self.found[t, c.UNIT_END] = stop - 1
        if before == c.BEFORE_UNIT or before == c.BEFORE_TIME or before == c.BEFORE_ACTOR:
            self.forms[self.form_end] = c.QUOTE
            self.forms[self.form_end + 1] = c.QUOTE
            self.form_end += 2
        else:
            for i in range(place, stop):
                self.forms[self.form_end + i - place] = self.texts[i]
            self.form_end += stop - place

    def read_number(self, t: int, start: int, stop: int) -> None:
        """Write the kind of a number into the form, and the number to the others."""
        kind = c.WHOLE
        for i in range(start, stop):
            letter = self.texts[i]
            if letter == c.POINT or letter == c.BIG_E or letter == c.SMALL_E:
                kind = c.DECIMAL
            self.numbers[self.size + i - start] = letter
        self.forms[self.form_end] = kind
        self.form_end += 1
        self.numbers[self.size + stop - start] = c.COMMA
        self.size += stop - start + 1
        self.found[t, c.NUMBERS] += 1

    def end_of_string(self, place: int, end: int) -> int:
        """Return the place after the quote that ends the string which begins at a place."""
        place += 1
        while place < end and self.texts[place] != c.QUOTE:
            place += 1
        return min(place + 1, end)

    def end_of_number(self, place: int, end: int) -> int:
        """Return the place after the bytes of a number; it may be none, which is found when it is read."""
        while place < end and self.is_of_number(self.texts[place]):
            place += 1
        return place

    def is_of_number(self, letter: int) -> bool:
        """Say whether a byte may stand in a number."""
        sign = letter == c.MINUS or letter == c.PLUS
        return sign or c.ZERO <= letter <= c.NINE or letter == c.POINT or letter == c.BIG_E or letter == c.SMALL_E

    def seven_before(self, begin: int, place: int) -> int:
        """Return the seven bytes before a place as one number; 0 if there are fewer, or the last is no colon."""
        word = 0
        if place - begin >= 7 and self.texts[place - 1] == c.COLON:
            for i in range(place - 7, place):
                word = 256 * word + self.texts[i]
        return word

    def is_plain(self, start: int, stop: int) -> bool:
        """Say whether a text is of plain letters, without an escape, and each of its strings ends."""
        inside = False
        for i in range(start, stop):
            letter = self.texts[i]
            if letter < c.FIRST_PLAIN or letter > c.LAST_PLAIN or letter == c.BACKSLASH:
                return False
            inside = inside != (letter == c.QUOTE)
        return not inside
