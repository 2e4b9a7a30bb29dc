"""The line at the top of every page of a trial: whether what is done here is a rehearsal, live, or over."""

from __future__ import annotations

from typing import NamedTuple


class Banner(NamedTuple):
    """A phase, its word in capitals, and what it means for whoever reads it."""

    phase: str
    word: str
    text: str


SIMULATED = Banner("rehearsal", "REHEARSAL", "Simulated patients, simulated time. Nobody is treated.")
BANNERS = {
    each.phase: each
    for each in (
        Banner("rehearsal", "REHEARSAL", "Nothing here teaches the live trial. It begins when the trial is locked."),
        Banner("live", "LIVE", "Real patients. What is recorded here stays on record."),
        Banner("ended", "ENDED", "No more arms are given. Late outcomes are still recorded."),
    )
}


def banner_of(phase: str, *, simulated: bool) -> Banner:
    """Return the banner of a phase. Where patients are simulated, everything is a rehearsal.

    Examples
    --------
    >>> banner_of("live", simulated=False).word, banner_of("live", simulated=True).word
    ('LIVE', 'REHEARSAL')
    """
    return SIMULATED if simulated else BANNERS[phase]
