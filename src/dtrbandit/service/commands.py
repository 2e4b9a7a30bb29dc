"""Commands over HTTP: the body of each, made from its fields, and the replies to it.

A command of ``record/commands.py`` becomes an endpoint by one row of ``endpoints.py``. A field with a name that no
command had before needs an entry in ``FIELDS``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, Field, create_model
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from dtrbandit.record import Command, Decision, Unblind
from dtrbandit.record.texts import LONGEST_SITE as LONGEST
from dtrbandit.service.call import Call, replied
from dtrbandit.service.keys import EXPLAIN
from dtrbandit.service.models import Body, Explain, Reason
from dtrbandit.trial import Ask, Taken


def _addressable(unit: str) -> str:
    if set(unit) <= {"."}:
        raise PydanticCustomError("dots", "dots alone are no id, since an address cannot hold them; use another id")
    return unit


FIELDS: dict[str, Any] = {  # of commands, by name; where a command has a default, it may be left out, or null
    "unit": Annotated[
        str,
        Field(min_length=1, max_length=200, description="An opaque id, never a name."),
        AfterValidator(_addressable),
    ],
    "context": Annotated[
        dict[str, float], Field(description="The columns of the stage.", examples=[{"qids_start1": 16}])
    ],
    "stage": Annotated[
        str,
        Field(
            description="A stage by its name. A response needs it only where two stages observe nothing new; an "
            "override is about the unit's latest stage if it names none."
        ),
    ],
    "arm": Annotated[str, Field(description="An arm by its label.")],
    "outcome": Annotated[float, Field(description="More is better.")],
    "exclude": Annotated[
        dict[str, list[str]],
        Field(description="Arms that are contraindicated, by stage.", examples=[{"first": ["ssri"]}]),
    ],
    "reason": Reason,
    "site": Annotated[
        str,
        Field(min_length=1, max_length=LONGEST, description="At which site. A site's own key says it by itself."),
    ],
}


def body_of(command: type[Command], *, in_address: Collection[str] = ()) -> type[Body]:
    """Return the model of a body with the fields of a command, but for those that the address has.

    Examples
    --------
    >>> from dtrbandit.record import Complete
    >>> body_of(Complete, in_address=["trial", "unit"])(outcome=-8.5)
    Complete(outcome=-8.5)
    """
    fields: dict[str, Any] = {}
    for name in (each for each in command._fields if each not in in_address):
        kind, *details = get_args(FIELDS[name])
        if name in command._field_defaults:
            fields[name] = Annotated[kind | None, *details], command._field_defaults[name]
        else:
            fields[name] = FIELDS[name], ...
    model: type[Body] = create_model(command.__name__, __base__=Body, __doc__=command.__doc__, **fields)
    return model


async def command_of(call: Call, kind: type[Command], body: type[Body]) -> Command:
    """Return the command that the address and the body of a call stand for. A site's own key says which site it is."""
    entries = dict(await call.body(body))
    if "unit" in call.path:
        entries["unit"] = call.path["unit"]
    if "site" in entries:
        entries["site"] = entries["site"] or call.holder.site
    return kind(**entries)


async def take(call: Call, command: Command) -> Taken:
    """Let the trial of a call take a command, and return what it replied once that is committed."""
    trial, holder, key = await call.trial(), call.holder, call.idempotency_key()
    if isinstance(command, Unblind):
        key = None  # each look is a record of its own: a repetition may show what has happened since
    ask = Ask(command, holder.actor, key, holder.id, holder.site, call.log())
    taken: Taken = await call.service.writer.ask(trial, ask)
    return taken


# -- replies -----------------------------------------------------------------------------------------------------


async def reply_arm(call: Call, query: Explain, command: Any) -> Response:
    """The reply is the arm to give, or that the unit left early."""  # noqa: D401  # a part of what OpenAPI says
    if query.explain:
        EXPLAIN.require(call.holder.role)
    taken = await take(call, command)
    if taken.decision is None:
        return replied({"unit": command.unit, "left": True}, taken.repeated)
    entries = decision_seen(taken.decision)
    if query.explain:
        entries["decision"] = decision_explained(taken.decision)
    return replied(entries, taken.repeated)


def recorded_as(what: str) -> Callable[[Call, Any], Awaitable[Response]]:
    """Return a handler that replies that something is on record, by its name."""

    async def reply(call: Call, command: Any) -> Response:
        return await recorded(call, command, what)

    return reply


async def recorded(call: Call, command: Any, what: str, **more: object) -> Response:
    """Reply that something is on record, and what else there is to say."""
    taken = await take(call, command)
    about = {"unit": command.unit} if hasattr(command, "unit") else {"trial": call.path["trial"]}
    return replied({**about, "recorded": what, **more}, taken.repeated)


def decision_seen(decision: Decision) -> dict[str, object]:
    """Return what a site needs of a decision: which arm.

    Examples
    --------
    >>> decision_seen(Decision("u1", 7, "first", "ssri", "close", 1.0, {}, {}, ("ssri",)))
    {'unit': 'u1', 'stage': 'first', 'arm': 'ssri'}
    """
    return {"unit": decision.unit, "stage": decision.stage, "arm": decision.arm}


def decision_explained(decision: Decision) -> dict[str, object]:
    """Return all of a decision, with its explanation in words."""
    fields = {name: _plain(value) for name, value in decision._asdict().items()}
    return {**fields, "explanation": str(decision)}


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
