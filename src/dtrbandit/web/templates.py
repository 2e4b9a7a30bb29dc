"""The templates of the pages, and how they write texts, numbers, times and addresses."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dtrbandit.words import counted, short_number

STATIC = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@cache
def environment() -> Environment:
    """Return the templates. Whatever is put into one is escaped."""
    found = Environment(
        loader=PackageLoader("dtrbandit.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"plain": plain, "number": number, "when": when, "day": day, "part": part, "lines": lines}
    found.filters["counted"] = counted
    return found


@cache
def static(name: str) -> bytes:
    """Return the style sheet or the script."""
    return files("dtrbandit.web").joinpath("static", name).read_bytes()


def plain(text: object) -> str:
    r"""Return a text in which every character can be seen: marks that hide or turn others are written out.

    Examples
    --------
    >>> plain("a\u202eb")
    'a\\u202eb'
    """
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in str(text))


def lines(text: object) -> str:
    """Return a text of several lines in which every other character can be seen."""
    return "\n".join(plain(line) for line in str(text).split("\n"))


def number(value: float | None) -> str:
    """Return a number with about four digits; a dash where there is none."""
    return short_number(None if value is None or value != value else value)


def when(time: datetime | str | None) -> Markup:
    """Return a time to the minute, in UTC."""
    if time is None:
        return Markup("–")
    text = time if isinstance(time, str) else time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Markup('<time datetime="{}">{}</time>').format(text, text[:16].replace("T", " "))


def day(time: str | None) -> Markup:
    """Return the day of a time, in UTC."""
    return Markup("–") if time is None else Markup('<time datetime="{}">{}</time>').format(time, time[:10])


def part(text: object) -> str:
    """Return a text as a part of an address, whatever it holds."""
    return quote(str(text), safe="", errors="surrogatepass")
