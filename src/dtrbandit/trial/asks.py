"""What is asked of a trial, and what it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import ObservationError
from dtrbandit.record.commands import Command
from dtrbandit.record.events import Decision, Fact


class Ask(NamedTuple):
    """A command, who gives it, and the key under which it may be repeated.

    Attributes
    ----------
    actor
        Who is on record with it; None where nobody said.
    key
        An idempotency key: the same command under it gets the recorded reply, another one is refused.
    api_key
        The id of the API key that the idempotency key belongs to.
    site
        The site for which it is asked: other sites' units are not its own. None: for all of them.
    log
        The log that it is meant for, ``"rehearsal"`` or ``"live"``; for the other one it is refused. None: for
        whichever is written.
    """

    command: Command
    actor: str | None = None
    key: str | None = None
    api_key: str | None = None
    site: str | None = None
    log: str | None = None


class Taken(NamedTuple):
    """What a command led to, now that it is stored for good.

    Attributes
    ----------
    decision
        What was asked for; None where there is none.
    facts
        The facts on record for it; none for a repetition that needed no key.
    repeated
        Whether it was on record before.
    """

    decision: Decision | None
    facts: tuple[Fact, ...]
    repeated: bool


def is_label(text: object) -> bool:
    """Say whether an actor or a key can be recorded."""
    return isinstance(text, str) and 0 < len(text) <= 200 and text.isprintable()


def check_label(text: object, what: str) -> None:
    """Refuse an actor or a key that cannot be recorded."""
    if text is not None and not is_label(text):
        raise ObservationError(f"{what} must be a printable text of 1 to 200 characters, or None, found {shown(text)}")


def fingerprint(command: Command) -> str:
    """Return a hash of a command's content. Numbers count by their value: 1 is 1.0.

    Examples
    --------
    >>> from dtrbandit.record.commands import Complete
    >>> fingerprint(Complete("u1", 1)) == fingerprint(Complete("u1", 1.0)) != fingerprint(Complete("u1", 2.0))
    True
    """
    fields = command._asdict()
    if fields.get("site", "") is None:
        del fields["site"]  # as it was before there were sites: keys from then still hold
    content = [type(command).__name__, *(_plain(each) for each in fields.values())]
    return sha256(_ENCODER.encode(content).encode()).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, default=repr)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    number = as_float(value)
    return number if number == value else value
