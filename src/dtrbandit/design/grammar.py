"""Tokens of the two small languages of a design, formulas and conditions.

A design may come over the network, so nothing in it can run code. Both languages are read by this package, and
evaluated by lookup, product and comparison alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

MOST_CHARACTERS = 10_000
SHOWN_AROUND = 40  # characters on each side of what an error marks

NAME = re.compile(r"[^\W\d][\w.]*")
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
SYMBOL = re.compile(r"<=|>=|==|!=|\*\*|[^\w\s]")


class Token(NamedTuple):
    """A piece of the text: its kind (``name``, ``number``, ``symbol`` or ``end``) and position."""

    kind: str
    text: str
    position: int


class Reader:
    """Reads a text token by token. An error marks the token that is wrong."""

    def __init__(self, text: str, *, where: str) -> None:
        if not isinstance(text, str):
            raise DesignError(f"{where} must be text, found {shown(text)}")
        if len(text) > MOST_CHARACTERS:
            raise DesignError(
                f"{where} may have {MOST_CHARACTERS} characters, found {len(text)}; compute some of it as a column"
            )
        self._text = text
        self._where = where
        self._tokens = list(self._split())
        self._next = 0

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self._tokens[self._next]

    def take(self) -> Token:
        """Return the next token and go past it."""
        token = self.token
        self._next += token.kind != "end"
        return token

    def take_if(self, *texts: str) -> Token | None:
        """Return the next token and go past it if it is one of ``texts``."""
        return self.take() if self.token.text in texts and self.token.kind != "end" else None

    def expect(self, text: str) -> None:
        """Go past ``text``, which must come next."""
        if not self.take_if(text):
            self.reject(f"expected {text!r}")

    def reject(self, reason: str, token: Token | None = None) -> NoReturn:
        """Raise a DesignError that marks ``token`` (by default the next one) in the text."""
        token = token or self.token
        found = f"found {_start(token.text)!r}" if token.kind != "end" else "the text ends"
        raise DesignError(
            f"{self._where}: {reason}, {found} at position {token.position + 1}\n{self._marked(token.position)}"
        )

    def _marked(self, position: int) -> str:
        """Return the text around a position on one line, and a caret below the position."""
        start, stop = max(0, position - SHOWN_AROUND), position + SHOWN_AROUND
        before, after = "…" if start else "", "…" if stop < len(self._text) else ""
        line = "".join(each if each.isprintable() else " " for each in self._text[start:stop])
        return f"    {before}{line}{after}\n    {' ' * (len(before) + position - start)}^"

    def _split(self) -> list[Token]:
        tokens, position = [], 0
        while position < len(self._text):
            for kind, pattern in (("name", NAME), ("number", NUMBER), ("symbol", SYMBOL)):
                if found := pattern.match(self._text, position):
                    tokens.append(Token(kind, found.group(), position))
                    position = found.end()
                    break
            else:
                position += 1  # white space
        return [*tokens, Token("end", "", len(self._text))]


def _start(text: str) -> str:
    return text if len(text) <= SHOWN_AROUND else f"{text[:SHOWN_AROUND]}…"
