"""Keys to the service, and the roles that they are for.

A key is 256 bits by chance, or from the key of whoever asked for it. Only its SHA-256 is kept.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from dtrbandit.errors import ObservationError
from dtrbandit.record.values import accept_site
from dtrbandit.service.problems import Refused
from dtrbandit.storage import ApiKey

SECRET_BYTES = 32
_FORM = re.compile(r"dtrb_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_NOBODY = "0" * 64


# -- roles -------------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """What a key is for.

    A *site* treats its own patients and sees their arms, never counts, estimates, rounds or the schedule. A
    *statistician* sees comparisons. An *administrator* runs the trial and its keys. An *auditor* reads the log.
    """

    ADMINISTRATOR = "administrator"
    SITE = "site"
    STATISTICIAN = "statistician"
    AUDITOR = "auditor"


RUNS = frozenset({Role.ADMINISTRATOR})
TREATS = frozenset({Role.ADMINISTRATOR, Role.SITE})
READS = frozenset({Role.ADMINISTRATOR, Role.STATISTICIAN, Role.AUDITOR})
COMPARES = frozenset({Role.ADMINISTRATOR, Role.STATISTICIAN})
INSPECTS = frozenset({Role.ADMINISTRATOR, Role.AUDITOR})
ALL = frozenset(Role)


class Permission(NamedTuple):
    """What a key may allow: its name, to which roles, and whether to a key that opens one trial alone."""

    name: str
    roles: frozenset[Role]
    for_one_trial: bool = True

    def require(self, role: Role) -> None:
        """Refuse a role that does not have it.

        Examples
        --------
        >>> Permission("enroll_unit", TREATS).require(Role.SITE)
        """
        if role not in self.roles:
            allowed = ", ".join(sorted(self.roles))
            what = self.name.replace("_", " ")
            raise Refused("forbidden", f"a key of the role {role.value} may not {what}; {allowed} may")


EXPLAIN = Permission("explain_decisions", COMPARES)  # a part of several endpoints


# -- keys --------------------------------------------------------------------------------------------------------


class NewKey(NamedTuple):
    """A key, the row that is kept of it, and whether it was made before, by the same request."""

    key: str
    row: ApiKey
    repeated: bool = False


def new_key(
    role: Role,
    label: str,
    *,
    now: datetime,
    days: float | None = None,
    trial: str | None = None,
    site: str | None = None,
    maker: str | None = None,
) -> NewKey:
    """Return a new key. It says who acts: give each person one of their own.

    Parameters
    ----------
    label
        Whose it is. The log shows it as the actor.
    days
        After so many days it is no longer valid; by default it always is.
    trial
        The one trial that it opens; by default it opens all. A site needs one.
    site
        The site whose units it opens. A site needs one, and nobody else has one.
    maker
        The key of whoever asks for it, from which it can be made again; by default it is made by chance alone.
    """
    require_place(role, trial, site)
    if not (isinstance(label, str) and 0 < len(label) <= 100 and label.isprintable() and label.strip() == label):
        raise ObservationError(f"the label of a key must be a printable text of 1 to 100 characters, found {label!r}")
    if days is not None and not 0 < days <= 36_500:
        raise ObservationError(f"a key is valid for more than 0 and at most 36,500 days, found {days!r}")
    name, salt = secrets.token_hex(6), secrets.token_hex(SECRET_BYTES)
    key = derived(secrets.token_hex(SECRET_BYTES) if maker is None else maker, salt, name)
    kept = None if maker is None else salt  # without it nobody can make the key again
    expires = None if days is None else as_text(now + timedelta(days=days))
    return NewKey(key, ApiKey(name, digest(key), role.value, label, as_text(now), expires, None, trial, site, kept))


def derived(maker: str, salt: str, name: str) -> str:
    """Return the key of an id that its maker's key and a salt lead to. Neither of the two alone tells anything of it.

    Examples
    --------
    >>> derived("dtrb_0123456789ab_a", "salt", "ba9876543210") == derived("dtrb_0123456789ab_b", "salt", "ba9876543210")
    False
    """
    code = hmac.digest(maker.encode(), f"dtrbandit key {salt} {name}".encode(), "sha256")
    return f"dtrb_{name}_{base64.urlsafe_b64encode(code).decode().rstrip('=')}"


def require_place(role: Role, trial: str | None, site: str | None) -> None:
    """Refuse a key for a site that does not say which, and one for somebody else that does."""
    accept_site(site)
    if role is Role.SITE and (trial is None or site is None):
        raise ObservationError(
            "a key of the role site needs a trial and a site: it opens the units that this site enrolled in this "
            f"trial, and no others; found trial {trial!r} and site {site!r}"
        )
    if role is not Role.SITE and site is not None:
        raise ObservationError(
            f"a key of the role {role.value} is for all sites, found site {site!r}; leave it out, "
            "or make a key of the role site"
        )


def digest(key: str) -> str:
    """Return what is kept of a key: 256 random bits need no slow hash."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def as_text(time: datetime) -> str:
    """Return a time as records have it.

    Examples
    --------
    >>> as_text(datetime(2026, 11, 17, 9, tzinfo=UTC))
    '2026-11-17T09:00:00.000000Z'
    """
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Holder(NamedTuple):
    """Who holds a key that is valid, and where it opens: one trial or all, the units of one site or of all."""

    id: str
    role: Role
    label: str
    trial: str | None = None
    site: str | None = None

    @property
    def must_stay_blind(self) -> bool:
        """Whether the holder must not hear what an error may tell."""
        return self.role is Role.SITE

    @property
    def actor(self) -> str:
        """How the log names the holder."""
        where = "" if self.site is None else f" {self.site}"
        return f"{self.label} ({self.role.value}{where}, key {self.id})"

    def require(self, permission: Permission, trial: str | None) -> None:
        """Refuse what is not for this holder: of another role's, or of another trial.

        A trial that is not the holder's and one that does not exist look alike.
        """
        permission.require(self.role)
        if self.role is Role.SITE and (self.trial is None or self.site is None):
            raise Refused("forbidden", "this key of a site does not say which; an administrator can make one that does")
        if self.trial is None:
            return
        if not permission.for_one_trial or trial not in (None, self.trial):
            raise Refused("forbidden", f"this key opens the trial {self.trial!r} and nothing else")


class KeyRing:
    """The keys that were given out, as they were last read."""

    def __init__(self, rows: Iterable[ApiKey] = ()) -> None:
        self._rows: Mapping[str, ApiKey] = {}
        self.replace(rows)

    def replace(self, rows: Iterable[ApiKey]) -> None:
        """Take the rows that hold from now on."""
        self._rows = {row.id: row for row in rows}

    def __len__(self) -> int:
        return len(self._rows)

    def holder(self, authorization: str | None, *, now: datetime) -> Holder:
        """Return who sent the header ``Authorization``, or refuse. All refusals look alike."""
        key = presented(authorization)
        found = _FORM.fullmatch(key)
        row = self._rows.get(found[1]) if found else None
        same = hmac.compare_digest(digest(key), _NOBODY if row is None else row.sha256)
        if row is None or not same or not is_valid(row, now):
            raise _no_key()
        return _holder_of(row)

    def holder_of(self, key_id: str | None, *, now: datetime) -> Holder:
        """Return the holder of a key that was shown before, or refuse if it is no longer valid."""
        row = self._rows.get(key_id or "")
        if row is None or not is_valid(row, now):
            raise _no_key()
        return _holder_of(row)

    def rows(self) -> list[ApiKey]:
        """Return what is kept of each key."""
        return list(self._rows.values())


def presented(authorization: str | None) -> str:
    """Return the key in a header ``Authorization``; nothing if there is none.

    Examples
    --------
    >>> presented("Bearer dtrb_0123456789ab_x"), presented("Basic x"), presented(None)
    ('dtrb_0123456789ab_x', '', '')
    """
    scheme, _, key = (authorization or "").partition(" ")
    return key if scheme.lower() == "bearer" else ""


def _no_key() -> Refused:
    return Refused("no-key", "the request has no key, or one that is unknown, expired or revoked")


def _holder_of(row: ApiKey) -> Holder:
    return Holder(row.id, Role(row.role), row.label, row.trial, row.site)


def is_valid(row: ApiKey, now: datetime) -> bool:
    """Say whether a key has neither expired nor been revoked."""
    if row.expires is None and row.revoked is None:
        return True
    time = as_text(now)
    return (row.expires is None or time < row.expires) and (row.revoked is None or time < row.revoked)
