"""The end of a trial: nothing more is decided, and what still happens to its units is recorded."""

from __future__ import annotations

from dtrbandit.errors import ProtocolError
from dtrbandit.record.events import Ended, Fact, TrialFact
from dtrbandit.record.histories import Histories, History
from dtrbandit.record.reasons import accept_words


def ended(histories: Histories, fields: tuple[str]) -> tuple[Ended | None, None]:
    """Return the fact that the trial ended."""
    fact = Ended(accept_words(fields[0], "end"))
    return (None, None) if fact == histories.ended else (fact, None)


def require_going_on(end: Ended, fact: Fact, history: History) -> None:
    """Refuse what an ended trial does not do: decide for a unit, ``history`` being where it arrived, and go on."""
    if history.feasible:
        raise no_more_arms(end, history.unit)
    if isinstance(fact, TrialFact):
        raise ProtocolError(f"the trial ended already ({end.reason}), found {type(fact).__name__} ({fact.reason})")


def no_more_arms(ended: Ended, unit: str) -> ProtocolError:
    """Return the refusal to decide for a unit of a trial that ended."""
    told = f"unit {unit!r} cannot be given an arm: the trial ended"
    still = "outcomes, withdrawals and amendments are still recorded"
    return ProtocolError(
        f"{told} ({ended.reason}); {still}",
        blind=f"{told}; {still}",
        remedy="Ask an administrator of the trial how the patient is treated now.",
    )
