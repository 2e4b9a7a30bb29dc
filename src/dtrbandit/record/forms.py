"""Records as forms that are filled in: many usual ones are read in one step, and become facts side by side.

Texts that are the same but for numbers, the names of a unit and an actor, and a time have one *form*. A form is read
once, as JSON, with the number of each blank in its place. What stands in the blanks of all texts is found by
``record/blanks.py``, which is compiled. Anything that is not usual is read by itself, in ``record/chain.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import orjson

from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.kernels.constants import DECIMAL
from dtrbandit.record import codec, packed
from dtrbandit.record.blanks import blanks_of
from dtrbandit.record.bundle import Bundle, Head, HeadCounter, Integers, Unusual, require_usual
from dtrbandit.record.chain import KEYS, entries_of
from dtrbandit.record.events import Assigned, Event
from dtrbandit.record.reading import ASSIGNED, Entries, Order, Reader, plain_document
from dtrbandit.record.sequences import Bundled, usual_runs

# the entries of usual events, sorted
ENROLLED = ("context", "event", "round", "unit")
ENROLLED_AT_SITE = ("context", "event", "format", "round", "site", "unit")
RESPONDED = ("context", "event", "stage", "unit")
COMPLETED = ("event", "outcome", "unit")
WITHDRAWN = ("event", "reason", "unit")

NUMBER = re.compile(rb"[\x01\x02]")  # that stands in a form
NAME = b'"unit":""'
MOST_FORMS = 4_096  # that are remembered: each reason of a withdrawal makes one
MOST_EXACT = 2.0**53  # whole numbers beyond it are not exact as floats
NO_BLANK = UNUSUAL = -1


class Form(NamedTuple):
    """How usual facts are read. A blank is told by its number among those of a text.

    Attributes
    ----------
    head
        What the facts have in common.
    columns
        The blanks of their own numbers, in the order in which these are kept; NO_BLANK for what is null.
    sequence
        The blank of the record's number.
    said
        The blank of the round that a fact names; NO_BLANK if it names none.
    fixed
        Blanks that must hold a certain number.
    """

    head: Head
    columns: Integers
    sequence: int
    said: int = NO_BLANK
    fixed: tuple[tuple[int, int], ...] = ()


class Forms:
    """Reads the records of one log, whose first event says in which order numbers are kept."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._forms: list[Form] = []
        self._known: dict[bytes, int] = {}  # their numbers; UNUSUAL for what is none
        # Each unit's name once: a copy in every fact would keep memory from being used again, and a long log would be
        # read in twice the time.
        self._names: dict[str, str] = {}

    def pieces(self, texts: list[bytes], first: int, shortest: int) -> Iterator[Sequence[Event]]:
        """Give the events of records, the first of which has this number.

        Usual ones side by side, if there are at least ``shortest`` in a row; all others in a list. No piece but the
        first begins with a decision. A log is opened once: what follows a second opening is read by the first.
        """
        if self._reader.first is None:  # nothing was read yet, or nothing that tells the order of numbers
            yield self.one_by_one(texts[:1], first)
            texts, first = texts[1:], first + 1
        filled = self._filled_in(texts, first)
        for usual, start, stop in usual_runs(self._are_usual(filled.which).tolist(), shortest):
            bundle = self._bundle(filled, start, stop) if usual else None
            yield Bundled(bundle) if bundle else self.one_by_one(texts[start:stop], first + start)

    def _are_usual(self, which: Integers) -> Mask:
        """Say of each record whether it is usual; a decision is not if what it answers is not, and stays with it."""
        usual: Mask = which != UNUSUAL
        decides = np.array([packed.KINDS[form.head[0]] is Assigned for form in self._forms] + [False])[which]
        usual[1:] &= usual[:-1] | ~decides[1:]
        return usual

    def one_by_one(self, texts: list[bytes], first: int) -> list[Event]:
        """Return the same events in a list."""
        return [self._reader.event(entries_of(text, n)["event"]) for n, text in enumerate(texts, first)]

    def _filled_in(self, texts: list[bytes], first: int) -> _FilledIn:
        if len(self._known) > MOST_FORMS:
            self._known, self._forms = {}, []
        known, blanks = self._known, blanks_of(texts)
        which = [known[bare] if bare in known else self._number_of(bare) for bare in blanks.forms]
        try:
            numbers = orjson.loads(blanks.numbers)
        except orjson.JSONDecodeError:  # one of them is none
            numbers, which = [], [UNUSUAL] * len(texts)
        return _FilledIn(
            np.array(which, dtype=np.int64),
            first + np.arange(len(texts)),
            np.cumsum(blanks.counts) - blanks.counts,
            np.array([*numbers, np.nan], dtype=np.float64),
            blanks.units,
        )

    def _bundle(self, filled: _FilledIn, start: int, stop: int) -> Bundle | None:
        """Return some of the facts side by side; None if there is more to one of them than usual."""
        which, units = filled.which[start:stop], filled.units[start:stop]
        present = np.unique(which).tolist()
        heads, number_of, said = np.zeros_like(which), HeadCounter(), np.zeros_like(which)
        numbers = np.full((len(which), max(self._forms[number].columns.size for number in present)), np.nan)
        for number in present:
            form, at = self._forms[number], np.flatnonzero(which == number)
            try:
                said[at], own = filled.read(form, start + at)
            except Unusual:
                return None
            heads[at], numbers[at, : own.shape[1]] = number_of(form.head), own
        return Bundle(number_of.heads, heads, list(map(self._names.setdefault, units, units)), said, numbers)

    # -- a form is read --------------------------------------------------------------------------------------

    def _number_of(self, bare: bytes) -> int:
        """Return the number of a form that is not known yet; UNUSUAL if it is not that of usual facts."""
        self._known[bare] = UNUSUAL
        try:
            form = self._form(bare)
        except (Unusual, KeyError, TypeError):  # entries are missing, or hold what those of no usual fact do
            return UNUSUAL
        self._forms.append(form)
        self._known[bare] = len(self._forms) - 1
        return self._known[bare]

    def _form(self, bare: bytes) -> Form:
        numbers = count()
        text = NUMBER.sub(lambda found: (b"%d.0" if found[0][0] == DECIMAL else b"%d") % next(numbers), bare)
        record = plain_document(text)
        if record is None or tuple(record) != KEYS or bare.count(NAME) != 1:
            raise Unusual
        event = record["event"]
        require_usual(type(event) is dict and event["unit"] == "")
        return READS[event["event"]](self, event, _whole(record["sequence"]))

    def _enrolled(self, event: Entries, sequence: int) -> Form:
        order, at_site = self._reader.first, tuple(event) == ENROLLED_AT_SITE
        if order is None or not (at_site or tuple(event) == ENROLLED):
            raise Unusual
        labels, columns = _context(order, event["context"])
        head = packed.head_of_enrolled(labels, site=_text(event["site"]) if at_site else None)
        fixed = ((_whole(event["format"]), codec.SINCE["Enrolled.site"]),) if at_site else ()
        return Form(head, columns, sequence, _whole(event["round"]), fixed)

    def _responded(self, event: Entries, sequence: int) -> Form:
        require_usual(tuple(event) == RESPONDED)
        stage = _text(event["stage"])
        labels, columns = _context(self._reader.columns[stage], event["context"])
        return Form(packed.head_of_responded(stage, labels), columns, sequence)

    def _assigned(self, event: Entries, sequence: int) -> Form:
        require_usual(tuple(event) == ASSIGNED and type(event["contenders"]) is list)
        stage, arm, reason = _text(event["stage"]), _text(event["arm"]), _text(event["reason"])
        order, contenders = self._reader.arms[stage], tuple(map(_text, event["contenders"]))
        head = packed.head_of_assigned((stage, arm, reason, contenders, ()), order.labels, order.labels)
        estimates = [*_estimates(order, event["q_tilde"]), *_estimates(order, event["q_hat"])]
        columns = np.array([_decimal(event["propensity"]), *estimates])
        return Form(head, columns, sequence, _whole(event["round"]))

    def _completed(self, event: Entries, sequence: int) -> Form:
        require_usual(tuple(event) == COMPLETED)
        return Form(packed.HEADS[packed.COMPLETED], np.array([_decimal(event["outcome"])]), sequence)

    def _withdrawn(self, event: Entries, sequence: int) -> Form:
        require_usual(tuple(event) == WITHDRAWN)
        return Form(packed.head_of_withdrawn(_text(event["reason"])), np.array([], dtype=np.int64), sequence)


READS: dict[str, Callable[[Forms, Entries, int], Form]] = {
    "Enrolled": Forms._enrolled,
    "Responded": Forms._responded,
    "Assigned": Forms._assigned,
    "Completed": Forms._completed,
    "Withdrawn": Forms._withdrawn,
}


class _FilledIn(NamedTuple):
    """Records as they were found: of each its form, its number, and the place of the first of its numbers."""

    which: Integers
    sequence: Integers
    begins: Integers
    numbers: Vector  # of all records; then NaN, for what is null
    units: list[str]

    def read(self, form: Form, at: Integers) -> tuple[Vector, Matrix]:
        """Return the rounds that facts of one form name, and their own numbers; Unusual if they hold what none does."""
        begins = self.begins[at]
        for blank, due in ((form.sequence, self.sequence[at]), *form.fixed):
            require_usual((self.numbers[begins + blank] == due).all())
        said = np.zeros(len(at)) if form.said == NO_BLANK else self.numbers[begins + form.said]
        own = self.numbers[np.where(form.columns == NO_BLANK, -1, begins[:, None] + form.columns)]
        require_usual((np.abs(said) < MOST_EXACT).all())
        return said, own


def _context(order: Order, found: Any) -> tuple[tuple[str, ...], Integers]:
    """Return the labels of a context in the order in which its numbers are kept, and their blanks."""
    require_usual(type(found) is dict)
    labels = tuple(label for label in order.labels if label in found)
    require_usual(len(labels) == len(found))
    return labels, np.array([_decimal(found[label]) for label in labels], dtype=np.int64)


def _estimates(order: Order, found: Any) -> list[int]:
    """Return the blanks of estimates in the order in which they are kept."""
    require_usual(type(found) is dict and tuple(found) == order.as_text)
    return [NO_BLANK if found[label] is None else _decimal(found[label]) for label in order.labels]


def _text(found: Any) -> str:
    require_usual(type(found) is str)
    return str(found)


def _whole(found: Any) -> int:
    """Return the blank of a whole number."""
    require_usual(type(found) is int)
    return int(found)


def _decimal(found: Any) -> int:
    """Return the blank of a number with a point or an exponent."""
    require_usual(type(found) is float)
    return int(found)
