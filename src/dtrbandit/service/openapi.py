"""All endpoints in OpenAPI 3.1, from the table that routes requests and the models that check them."""

from __future__ import annotations

import re
from functools import cache
from inspect import getdoc
from typing import Any

from pydantic.json_schema import models_json_schema

from dtrbandit._version import __version__
from dtrbandit.service.endpoints import ENDPOINTS, Endpoint
from dtrbandit.service.models import Problem, Query, may_be_left_out
from dtrbandit.service.problems import MEDIA_TYPE

ABOUT = "Response-adaptive multi-stage trials: units enrol and respond, the reply is the arm to give."
SCHEMAS = "#/components/schemas/{model}"
_IN_PATH = re.compile(r"{(\w+)(?::path)?}")

Entries = dict[str, Any]


@cache
def document() -> Entries:
    """Return the whole document."""
    paths: dict[str, Entries] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(_IN_PATH.sub(r"{\1}", endpoint.path), {})[endpoint.method.lower()] = described(endpoint)
    replies = {each.reply for each in ENDPOINTS if each.reply is not None} | {Problem}
    _, schemas = models_json_schema(
        [(each, "serialization") for each in sorted(replies, key=lambda each: each.__name__)], ref_template=SCHEMAS
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "dtrbandit", "description": ABOUT, "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def described(endpoint: Endpoint) -> Entries:
    """Return what the document says of one endpoint."""
    entries: Entries = {
        "tags": [_tag(endpoint.path)],
        "summary": endpoint.name.replace("_", " ").title(),
        "description": "\n\n".join(filter(None, map(getdoc, _sources(endpoint)))),
        "operationId": endpoint.name,
        "parameters": [*_in_path(endpoint.path), *_in_query(endpoint.query)],
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": endpoint.body.model_json_schema()}}
        entries["requestBody"] = {"required": not may_be_left_out(endpoint.body), "content": content}
    if endpoint.roles is not None:
        entries["security"] = [{"key": []}]
    return entries


def _sources(endpoint: Endpoint) -> list[object]:
    """Return what says what an endpoint does: its command if it has one, and its handler."""
    return [endpoint.handler] if endpoint.command is None else [endpoint.command, endpoint.handler]


def _tag(path: str) -> str:
    """Return what an address is about: units, trials, keys, or the health of the service."""
    return next((each for each in ("units", "trials", "keys") if f"/{each}" in path), "health")


def _in_path(path: str) -> list[Entries]:
    names = _IN_PATH.findall(path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _in_query(query: type[Query] | None) -> list[Entries]:
    known = {} if query is None else query.model_json_schema()["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": schema, "description": schema["description"]}
        for name, schema in known.items()
    ]


def _responses(endpoint: Endpoint) -> Entries:
    reply = {} if endpoint.reply is None else _reference(endpoint.reply)
    good = {"description": "What was asked for", "content": {"application/json": {"schema": reply}}}
    refused = {"description": "A refusal (RFC 9457)", "content": {MEDIA_TYPE: {"schema": _reference(Problem)}}}
    return {"200": good, "4XX": refused, "503": refused}


def _reference(model: type) -> Entries:
    return {"$ref": SCHEMAS.format(model=model.__name__)}
