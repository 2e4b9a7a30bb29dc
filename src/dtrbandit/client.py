"""A live trial over HTTP: the verbs of a session, with retries that cannot act twice.

>>> from dtrbandit.client import Client
>>> trial = Client("http://127.0.0.1:8000", key="dtrb_...").trial("stard")

and then, with a service at that address::

    trial.enroll("u1", {"qids_start1": 16}).arm
    trial.respond("u1", {"qids_end1": 11, "qids_start2": 12})   # None: the unit left early
    trial.complete("u1", -8.5)
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from dtrbandit import errors
from dtrbandit.client_keys import RemoteKeys, segment
from dtrbandit.design import Design
from dtrbandit.errors import DTRError, NotAllowed, ObservationError, ProtocolError, Unavailable
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import policy_to_dict
from dtrbandit.record import Decision

SECONDS_TO_ANSWER = 10.0  # then the answer counts as lost
Exclude = Mapping[str, Iterable[str]]
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


class Arm(NamedTuple):
    """The arm to give a unit at a stage."""

    unit: str
    stage: str
    arm: str


class Client:
    """A service and a key to it. It may be used by several threads; each has a connection of its own.

    Parameters
    ----------
    patience
        For so many seconds a call is repeated while the service cannot be reached or cannot store anything. Each call
        carries an idempotency key, so that a repetition finds what the first attempt may have done.
    """

    def __init__(self, url: str, key: str, *, patience: float = 60.0) -> None:
        split = urlsplit(url)
        if split.scheme not in ("http", "https") or not split.hostname or split.query or split.fragment:
            raise ObservationError(f"the address must look like https://trials.example.org, found {url!r}")
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise ObservationError(f"a key is dtrb_ and letters, digits, - and _, found {key[:12]!r}…")
        self.url, self._split, self._key, self._patience = url.rstrip("/"), split, key, patience
        self._own = threading.local()

    def trial(self, name: str, *, log: str | None = None) -> RemoteTrial:
        """Return a trial by its name, whose verbs are for its log ``"rehearsal"`` or ``"live"``; None: for either."""
        return RemoteTrial(self, name, log=log)

    @property
    def keys(self) -> RemoteKeys:
        """The keys of the service, for administrators; auditors read what happened to them."""
        return RemoteKeys(self)

    def trials(self) -> list[str]:
        """Return the names of the trials that the key opens."""
        names: list[str] = self.call("GET", "/trials")["trials"]
        return names

    def create(self, name: str, design: Design, policy: Policy[Any]) -> RemoteTrial:
        """Create a trial, in rehearsal."""
        body = {"name": name, "design": design.to_dict(), "policy": policy_to_dict(policy)}
        self.call("POST", "/trials", body)
        return RemoteTrial(self, name)

    def call(
        self, method: str, path: str, body: object = None, *, key: str | None = None, log: str | None = None
    ) -> dict[str, Any]:
        """Return what the service answers to one request, repeated until it does; raises what it refuses with.

        ``key`` is the idempotency key, by default a new one; ``log`` the log that the request is meant for.
        """
        answer: dict[str, Any] = json.loads(self.read(method, path, body, key=key, log=log))
        return answer

    def lines(self, path: str, since: int) -> Iterator[dict[str, Any]]:
        """Yield the records of a log after a sequence number, as many at a time as the service gives."""
        while lines := self.read("GET", f"{path}?since={since}").splitlines():
            for line in lines:
                record = json.loads(line)
                since = record["sequence"]
                yield record

    def read(
        self, method: str, path: str, body: object = None, *, key: str | None = None, log: str | None = None
    ) -> bytes:
        """Return the same as it came."""
        content = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Idempotency-Key": key or uuid.uuid4().hex,
            **({} if log is None else {"Dtrbandit-Log": log}),
        }
        pauses, ends = _pauses(), time.monotonic() + self._patience
        while True:
            status, text, wait = self._attempt(method, path, content, headers)
            if status < 400:
                return text
            pause = max(next(pauses), wait)
            if status != 503 or time.monotonic() + pause > ends:
                raise _error(status, text)
            time.sleep(pause)

    def _attempt(self, method: str, path: str, content: bytes, headers: Mapping[str, str]) -> tuple[int, bytes, float]:
        """Return status, body and what Retry-After says. A connection that fails counts as 503."""
        connection = self._connection()
        try:
            connection.request(method, self._split.path.rstrip("/") + path, content, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read(), _seconds(answer.headers.get("Retry-After"))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return 503, json.dumps({"detail": f"no answer from {self.url}: {error!r}"}).encode(), 0.0

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if found is None:
            host, port = self._split.hostname or "", self._split.port
            if self._split.scheme == "https":
                secure = ssl.create_default_context()
                found = http.client.HTTPSConnection(host, port, timeout=SECONDS_TO_ANSWER, context=secure)
            else:
                found = http.client.HTTPConnection(host, port, timeout=SECONDS_TO_ANSWER)
            self._own.connection = found
        return found

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        found: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if found is not None:
            found.close()
            self._own.connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.url}>"  # never the key


class RemoteTrial:
    """A trial of a service: the verbs of a session. What it returns is what the key's role may see."""

    def __init__(self, client: Client, name: str, *, log: str | None = None) -> None:
        if log not in (None, "rehearsal", "live"):
            raise ObservationError(f"a trial has the logs 'rehearsal' and 'live', found {log!r}")
        self.client, self.name, self.log = client, name, log
        self._path = f"/trials/{segment(name)}"

    # -- the verbs -------------------------------------------------------------------------------------------

    def enroll(
        self,
        unit: str,
        context: Mapping[str, float],
        *,
        exclude: Exclude | None = None,
        reason: str | None = None,
        site: str | None = None,
    ) -> Arm:
        """Enrol a unit with its first context; return its first arm. ``exclude`` as for a session.

        ``site`` is for administrators: the key of a site says which one it is.
        """
        given = {"unit": unit, "context": dict(context), "site": site, **_excluded(exclude, reason)}
        return _arm(self._post("/units", given))

    def respond(
        self,
        unit: str,
        context: Mapping[str, float],
        *,
        stage: str | None = None,
        exclude: Exclude | None = None,
        reason: str | None = None,
    ) -> Arm | None:
        """Record the response of a unit; return its next arm, or None if it left early."""
        given = {"context": dict(context), "stage": stage, **_excluded(exclude, reason)}
        reply = self._about(unit, "responses", given)
        return None if reply.get("left") else _arm(reply)

    def complete(self, unit: str, outcome: float) -> None:
        """Record the outcome of a unit."""
        self._about(unit, "outcome", {"outcome": outcome})

    def withdraw(self, unit: str, *, reason: str) -> None:
        """Record that a unit is lost."""
        self._about(unit, "withdrawal", {"reason": reason})

    def override(self, unit: str, arm: str, *, reason: str, stage: str | None = None) -> Arm:
        """Record that another arm than the one decided was really given."""
        return _arm(self._about(unit, "override", {"arm": arm, "reason": reason, "stage": stage}))

    def correct(
        self,
        unit: str,
        *,
        reason: str,
        outcome: float | None = None,
        stage: str | None = None,
        context: Mapping[str, float] | None = None,
    ) -> None:
        """Correct a recorded outcome, or columns of the context recorded at ``stage``."""
        columns = None if context is None else dict(context)
        given = {"reason": reason, "outcome": outcome, "stage": stage, "context": columns}
        self._about(unit, "corrections", given)

    def void(self, unit: str, *, reason: str) -> None:
        """Record that a unit should never have been enrolled."""
        self._about(unit, "void", {"reason": reason})

    def unblind(self, unit: str, *, reason: str) -> dict[str, Any]:
        """Record that you look behind the arms of a unit; return all of it, each decision explained."""
        return self._about(unit, "unblinding", {"reason": reason})

    def hold(self, *, reason: str, site: str | None = None) -> None:
        """Hold accrual, everywhere or at one site."""
        self._post("/hold", {"reason": reason, "site": site})

    def release(self, *, reason: str, site: str | None = None) -> None:
        """Let units enrol again, everywhere or at one site."""
        self._post("/release", {"reason": reason, "site": site})

    def close_arm(self, stage: str, arm: str, *, reason: str) -> None:
        """Close an arm of a stage, for all decisions from now on."""
        self._post("/arms/close", {"stage": stage, "arm": arm, "reason": reason})

    def lock(self, *, reason: str, paper_schedule: bool = False) -> None:
        """End rehearsal, for good; refused by a trial whose verbs are for the live log."""
        self._post("/lock", {"reason": reason, "paper_schedule": paper_schedule})

    def end(self, *, reason: str) -> None:
        """End the trial."""
        self._post("/end", {"reason": reason})

    # -- what is on record -----------------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        """``rehearsal``, ``live`` or ``ended``."""
        return str(self._get()["phase"])

    def explain(self, unit: str) -> Sequence[Decision]:
        """Return all decisions about a unit, for administrators and statisticians; ``print`` one to read it."""
        decisions = self.unit(unit).get("decisions")
        if decisions is None:
            raise NotAllowed("decisions are explained to administrators and statisticians alone")
        return tuple(_decision(each) for each in decisions)

    def unit(self, unit: str) -> dict[str, Any]:
        """Return what may be seen of a unit."""
        return self._get(f"/units/{segment(unit)}")

    def units(self, *, awaiting: str | None = None, overdue: bool | None = None) -> list[dict[str, Any]]:
        """Return the units in flight: what each awaits, since when, and whether it is overdue."""
        wanted = {"awaiting": awaiting, "overdue": None if overdue is None else str(overdue).lower()}
        query = urlencode({name: value for name, value in wanted.items() if value is not None})
        units: list[dict[str, Any]] = self._get(f"/units?{query}")["units"]
        return units

    def summary(self) -> dict[str, Any]:
        """Return where the trial stands; ``["text"]`` reads well."""
        return self._get("/summary")

    def head(self) -> tuple[int, str]:
        """Return the number of records and the last hash."""
        head = self._get("/head")
        return head["sequence"], head["hash"]

    def records(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the records after a sequence number, the seed withheld while the trial runs."""
        return self.client.lines(f"{self._path}/log", since)

    def _get(self, path: str = "") -> dict[str, Any]:
        return self.client.call("GET", self._path + path)

    def _post(self, path: str, body: object) -> dict[str, Any]:
        return self.client.call("POST", self._path + path, body, log=self.log)

    def _about(self, unit: str, what: str, body: object) -> dict[str, Any]:
        return self._post(f"/units/{segment(unit)}/{what}", body)


def _excluded(exclude: Exclude | None, reason: str | None) -> dict[str, object]:
    if exclude is None:
        return {}
    return {"exclude": {stage: [*arms] for stage, arms in exclude.items()}, "reason": reason}


def _arm(reply: Mapping[str, Any]) -> Arm:
    return Arm(reply["unit"], reply["stage"], reply["arm"])


def _decision(entries: Mapping[str, Any]) -> Decision:
    fields = {name: entries[name] for name in Decision._fields}
    pairs = tuple((arm, why) for arm, why in fields["infeasible"])
    return Decision(**{**fields, "contenders": tuple(fields["contenders"]), "infeasible": pairs})


def _pauses() -> Iterator[float]:
    """Yield ever longer pauses, each by chance between its half and its whole, so that clients do not march in step."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(2 * pause, LONGEST_PAUSE)


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdigit() else 0.0


def _error(status: int, text: bytes) -> DTRError:
    """Return a refusal as the error that a session raises."""
    try:
        problem = json.loads(text)
        detail, name = str(problem["detail"]), problem.get("error")
    except (ValueError, KeyError, TypeError, AttributeError):  # of a proxy, perhaps
        detail, name = text[:200].decode(errors="replace"), None
    kind = getattr(errors, name, None) if isinstance(name, str) else None
    if isinstance(kind, type) and issubclass(kind, DTRError):
        return kind(detail)
    refusals = dict.fromkeys((401, 403, 429), NotAllowed)
    by_status: dict[int, type[DTRError]] = {**refusals, 404: errors.NotFound, 409: ProtocolError}
    return by_status.get(status, Unavailable if status >= 500 else ObservationError)(detail)
