"""Charts as SVG: drawn on the server, coloured by the style sheet, each with the same numbers as a table.

A chart has no colours, fonts or scripts of its own: classes alone, so that one style sheet serves light and dark, and
the Content-Security-Policy allows nothing inline (ADR 19).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from dtrbandit.web.figures import Leads, Lines, Shares
from dtrbandit.words import short_number

WIDTH, HEIGHT = 464, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 116, 12, 36  # around the axes; names of lines are at the right
LINE = 14  # of text
COLOURS = 8  # classes c0 to c7 of the style sheet


class Chart(NamedTuple):
    """A picture, what it is called and shows, and its numbers."""

    title: str
    about: str
    svg: Markup
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Scale(NamedTuple):
    """Where values of an axis are drawn."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        span = self.high - self.low or 1.0
        return round(self.begin + (value - self.low) / span * (self.end - self.begin), 1)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round numbers along the axis.

        Examples
        --------
        >>> Scale(0, 100, 0, 1).ticks()
        [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        """
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(power * k for k in (1, 2, 2.5, 5, 10, 20) if span / (power * k) <= most)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def chart_of_shares(shares: Shares, title: str, about: str) -> Chart:
    """Draw how decisions were shared out, as columns from 0 to 100 %."""
    first, last = shares.edges[0], max(shares.edges[-1] - 1, shares.edges[0])
    x, y = Scale(first, last + 1, LEFT, WIDTH - RIGHT), Scale(0, 1, HEIGHT - BOTTOM, TOP)
    drawn = [_axes(x, y, "decision", percent=True)]
    totals = shares.counts.sum(axis=1, keepdims=True)
    parts = np.divide(shares.counts, totals, out=np.zeros(shares.counts.shape), where=totals > 0)
    for k, part in enumerate(parts):
        at, width, below = x(shares.edges[k]), x(shares.edges[k + 1]) - x(shares.edges[k]), 0.0
        for number, share in enumerate(part):
            if share > 0:
                top, bottom = y(below + share), y(below)
                drawn.append(_rectangle(at, top, max(width - 0.8, 0.5), bottom - top, number))
                below += float(share)
    seen = [(number, label) for number, label in enumerate(shares.labels) if shares.counts[:, number].any()]
    middles = np.cumsum(parts[-1]) - parts[-1] / 2 if len(parts) else np.zeros(0)
    drawn += _names([(number, label, y(float(middles[number]))) for number, label in seen])
    rows = [
        (_range(shares.edges[k], shares.edges[k + 1] - 1), *(str(count) for count in part))
        for k, part in enumerate(shares.counts)
    ]
    return _chart(title, about, drawn, ("decisions", *shares.labels), rows)


def chart_of_lines(lines: Lines, title: str, about: str, *, over: str, zero: bool = False) -> Chart:
    """Draw lines, each named at its end; ``over`` names what goes along."""
    x, y = _scales(lines.after, lines.values, zero=zero)
    drawn, ends = [_axes(x, y, over)], []
    for number, (label, values) in enumerate(zip(lines.labels, lines.values, strict=True)):
        known = [(x(t), y(v)) for t, v in zip(lines.after, values, strict=True) if math.isfinite(v)]
        if known:
            drawn.append(_path(known, f"line c{number % COLOURS} d{number % 4}"))
            ends.append((number, label, known[-1][1]))
    drawn += _names(ends)
    return _chart(title, about, drawn, (over, *lines.labels), _rows(lines.after, *lines.values))


def chart_of_leads(leads: Leads, title: str, about: str) -> Chart:
    """Draw the median of leads, where the middle 80 % of them are, and half of delta."""
    ends = [] if leads.half_delta is None else [leads.half_delta]
    x, y = _scales(leads.after, np.concatenate([leads.low, leads.high, np.array(ends)]), zero=True)
    drawn = [_axes(x, y, "decision")]
    names = []
    if len(leads.after):
        low, middle, high = (
            [(x(t), y(v)) for t, v in zip(leads.after, values, strict=True)]
            for values in (leads.low, leads.middle, leads.high)
        )
        drawn += [_path([*high, *reversed(low)], "band c0", closed=True), _path(middle, "line c0")]
        names.append((0, "median |ΔQ̃|", middle[-1][1]))
    if leads.half_delta is not None:
        drawn.append(_line(LEFT, y(leads.half_delta), WIDTH - RIGHT, y(leads.half_delta), "line c1 d1"))
        names.append((1, f"Δ/2 = {short_number(leads.half_delta)}", y(leads.half_delta)))
    rows = _rows(leads.after, leads.low, leads.middle, leads.high)
    return _chart(title, about, [*drawn, *_names(names)], ("up to decision", "10 %", "median", "90 %"), rows)


def chart_of_intervals(rows: Sequence[tuple[str, float, float, float]], title: str, about: str) -> Chart:
    """Draw values with their intervals, one below the other."""
    ends = np.array([value for row in rows for value in row[1:] if math.isfinite(value)] or [0.0, 1.0])
    margin = float(np.ptp(ends)) * 0.06 or 1.0
    x = Scale(float(ends.min()) - margin, float(ends.max()) + margin, 16, WIDTH - 16)
    height, drawn = TOP + 40 * len(rows) + BOTTOM, []
    for tick in x.ticks():
        drawn.append(_line(x(tick), TOP, x(tick), height - BOTTOM, "grid"))
        drawn.append(_text(x(tick), height - BOTTOM + 15, _short(tick), "tick middle"))
    for number, (label, value, low, high) in enumerate(rows):
        at = TOP + 40 * number + 26
        drawn.append(_text(18, at - 12, label, "name"))
        if math.isfinite(low) and math.isfinite(high):
            drawn.append(_line(x(low), at, x(high), at, f"line c{number % COLOURS}"))
        if math.isfinite(value):
            drawn.append(
                Markup('<circle class="dot c{}" cx="{}" cy="{}" r="4.5"/>').format(number % COLOURS, x(value), at)
            )
    table = [(label, *map(_number, numbers)) for label, *numbers in rows]
    return _chart(title, about, drawn, ("", "value", "low", "high"), table, height=height)


# -- parts of a picture ------------------------------------------------------------------------------------------


def _chart(
    title: str,
    about: str,
    drawn: Iterable[Markup],
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    height: int = HEIGHT,
) -> Chart:
    svg = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, f"{title}. {about}", Markup("").join(drawn)
    )
    return Chart(title, about, svg, tuple(heads), tuple(tuple(row) for row in rows))


def _rows(after: Iterable[int], *columns: Iterable[float]) -> list[tuple[str, ...]]:
    return [(f"{t:,}", *map(_number, values)) for t, *values in zip(after, *columns, strict=True)]


def _number(value: float) -> str:
    """Return a number of a table; a dash where there is none."""
    return short_number(float(value) if math.isfinite(value) else None)


def _scales(rounds: NDArray[np.int64], values: NDArray[np.float64], *, zero: bool) -> tuple[Scale, Scale]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low = min(low, 0.0) if zero else low
    pad = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    first, last = (float(rounds[0]), float(rounds[-1])) if len(rounds) else (0.0, 1.0)
    x = Scale(first, max(last, first + 1), LEFT, WIDTH - RIGHT)
    return x, Scale(low if zero and low == 0 else low - pad, high + pad, HEIGHT - BOTTOM, TOP)


def _axes(x: Scale, y: Scale, name: str, *, percent: bool = False) -> Markup:
    parts = []
    for tick in y.ticks():
        parts.append(_line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "grid"))
        label = f"{100 * tick:.0f} %" if percent else _short(tick)
        parts.append(_text(LEFT - 6, y(tick) + 4, label, "tick end"))
    for tick in x.ticks(4):
        if tick == int(tick):
            parts.append(_text(x(tick), HEIGHT - BOTTOM + 15, f"{tick:,.0f}", "tick middle"))
    parts.append(_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, name, "tick middle"))
    return Markup("").join(parts)


def _short(value: float) -> str:
    """Return a number of an axis without needless digits."""
    return f"{value:,.10g}" if abs(value) < 1e7 else f"{value:.1e}"


def _names(ends: Sequence[tuple[int, str, float]]) -> list[Markup]:
    """Return names beside the ends of lines, moved apart where they would touch."""
    placed, floor = [], TOP + 4.0
    ordered = sorted(ends, key=lambda end: end[2])
    ceiling = HEIGHT - BOTTOM - LINE * (len(ordered) - 1)
    for k, (number, label, at) in enumerate(ordered):
        at = max(min(at, ceiling + LINE * k), floor)
        floor = at + LINE
        swatch = _rectangle(WIDTH - RIGHT + 6, at - 4, 8, 8, number)
        placed.append(swatch + _text(WIDTH - RIGHT + 18, at + 4, _cut(label), "name"))
    return placed


def _cut(label: str, most: int = 13) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _path(points: Iterable[tuple[float, float]], classes: str, *, closed: bool = False) -> Markup:
    path = "M" + "L".join(f"{x} {y}" for x, y in points) + ("Z" if closed else "")
    return Markup('<path class="{}" d="{}"/>').format(classes, path)


def _line(x1: float, y1: float, x2: float, y2: float, classes: str) -> Markup:
    return _path([(x1, y1), (x2, y2)], classes)


def _rectangle(x: float, y: float, width: float, height: float, number: int) -> Markup:
    shape = Markup('<rect class="fill c{}" x="{}" y="{}" width="{}" height="{}"/>')
    return shape.format(number % COLOURS, *(round(value, 1) for value in (x, y, width, height)))


def _text(x: float, y: float, words: str, classes: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}">{}</text>').format(classes, round(x, 1), round(y, 1), escape(words))
