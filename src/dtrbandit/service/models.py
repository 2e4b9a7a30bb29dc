"""What requests and replies hold. Bodies are strict: no other entries, no text for a number, finite numbers alone.

A command of ``record/commands.py`` becomes an endpoint by one row of ``endpoints.py``: the model of its body is made
from its fields. A field with a name that no command had before needs an entry in ``FIELDS``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model

from dtrbandit.record import Command, Decision
from dtrbandit.record.values import LONGEST_SITE as LONGEST
from dtrbandit.service.key_store import MOST_OVERLAP, OVERLAP
from dtrbandit.service.keys import Role

MOST_RECORDS = 5000
Reason = Annotated[str, Field(min_length=1, max_length=2000, description="Why; it goes on record.")]


class Body(BaseModel):
    """What a request may say."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


# -- bodies of commands, made from their fields ------------------------------------------------------------------


FIELDS: dict[str, Any] = {  # of commands, by name; where a command has a default, it may be left out, or null
    "unit": Annotated[str, Field(min_length=1, max_length=200, description="An opaque id, never a name.")],
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


# -- other bodies ------------------------------------------------------------------------------------------------


class NewTrial(Body):
    """A trial to create. It begins in rehearsal, with a seed from the operating system."""

    name: str = Field(min_length=1, max_length=100)
    design: dict[str, Any] = Field(description="As examples/design.toml, in JSON: plans, and a list stage.")
    policy: dict[str, Any] = Field(examples=[{"name": "DTRBandit", "q": 1, "delta": 10.0}])


class Lock(Body):
    """The end of rehearsal, for good."""

    reason: Reason
    paper_schedule: bool = Field(False, description="Allow the paper's schedule, which a site could guess.")


class KeyWanted(Body):
    """A key to make."""

    role: str = Field(json_schema_extra={"enum": [role.value for role in Role]})
    label: str = Field(min_length=1, max_length=100, description="Whose key it is: the log's actor.")
    days: float | None = Field(None, gt=0, le=36_500, description="How long it is valid; forever if left out.")
    trial: str | None = Field(None, max_length=100, description="The one trial that it opens; a site needs one.")
    site: str | None = Field(None, max_length=LONGEST, description="For the role site: whose units it opens.")


class Rotation(Body):
    """How a key is rotated; the body may be left out."""

    overlap: float = Field(
        OVERLAP,
        ge=0,
        le=MOST_OVERLAP,
        description="Hours for which the old key still works; its own needs one at least.",
    )


def may_be_left_out(kind: type[Body]) -> bool:
    """Say whether a request may come without its body: all entries may be left out.

    Examples
    --------
    >>> may_be_left_out(Rotation), may_be_left_out(Lock)
    (True, False)
    """
    return not any(field.is_required() for field in kind.model_fields.values())


# -- parameters --------------------------------------------------------------------------------------------------


class Query(BaseModel):
    """What an address may say after its question mark, each name once."""

    model_config = ConfigDict(frozen=True)


class Explain(Query):
    """Whether a decision is explained."""

    explain: bool = Field(
        False, description="Say why. For administrators and statisticians; to a site or an auditor it is 403."
    )


class Awaiting(Query):
    """Which units in flight are listed."""

    awaiting: str | None = Field(None, max_length=200, description="Only those that await this.")
    overdue: bool | None = Field(None, description="Only those that are overdue, or that are not.")


class Records(Query):
    """Which records of a log are read."""

    since: int = Field(0, ge=0, le=2**53, description="Only records after this sequence number.")
    most: int = Field(1000, ge=1, le=MOST_RECORDS, description="How many records at most.")


# -- replies -----------------------------------------------------------------------------------------------------


class Reply(BaseModel):
    """What the service says."""


class ArmReply(Reply):
    """The arm to give, or that the unit left early; ``decision`` explains it to those who may ask."""

    unit: str
    stage: str | None = None
    arm: str | None = None
    left: bool | None = None
    decision: dict[str, Any] | None = None


class Recorded(Reply):
    """What is on record now."""

    unit: str
    recorded: str


class TrialReply(Reply):
    """A trial, as everybody may know it."""

    name: str
    phase: str
    log: str
    stages: list[dict[str, Any]]


class TrialsReply(Reply):
    """The names of the trials that the key opens."""

    trials: list[str]


class UnitReply(Reply):
    """A unit; a site sees no more than its arms."""

    unit: str
    status: str
    arms: dict[str, str]
    site: str | None = None
    round: int | None = None
    records: list[dict[str, Any]] | None = None
    decisions: list[dict[str, Any]] | None = None
    text: str | None = None


class UnitsReply(Reply):
    """The units in flight."""

    units: list[dict[str, Any]]


class HeadReply(Reply):
    """The end of the log, which stands for the whole of it."""

    sequence: int
    hash: str


class SummaryReply(Reply):
    """Where the trial stands."""

    policy: str
    units: int
    text: str


class KeyReply(Reply):
    """A key that was given out; ``key`` is the key itself, in the answer to the request that made it alone."""

    id: str
    role: str
    label: str
    created: str
    expires: str | None
    revoked: str | None
    trial: str | None = None
    site: str | None = None
    key: str | None = None


class KeysReply(Reply):
    """All keys that were given out."""

    keys: list[KeyReply]


class Problem(Reply):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str
    error: str | None = None


def decision_explained(decision: Decision) -> dict[str, object]:
    """Return all of a decision, with its explanation in words."""
    fields = {name: _plain(value) for name, value in decision._asdict().items()}
    return {**fields, "explanation": str(decision)}


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
