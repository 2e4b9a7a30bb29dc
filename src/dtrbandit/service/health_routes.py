"""Endpoints for whoever watches the service: alive, ready, figures."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from dtrbandit.service import metrics
from dtrbandit.service.figures import figures
from dtrbandit.service.problems import Refused
from dtrbandit.service.requests import Visit, described, replied
from dtrbandit.service.service import Service

routes = APIRouter(tags=["health"])


@routes.get("/live", operation_id="is_alive")
async def is_alive() -> Response:
    """Say that the process answers."""
    return replied({"alive": True})


@routes.get("/ready", operation_id="is_ready")
async def is_ready(request: Request) -> Response:
    """Say that all trials are read and the database takes writes; 503 otherwise."""
    service: Service = request.scope["service"]
    if not service.ready:
        raise Refused("starting", "the service is reading its trials")
    await service.probe.require_writable()
    return replied({"ready": True})


@routes.get("/metrics", **described("read_metrics"))
async def read_metrics(request: Request) -> Response:
    """Return figures for Prometheus."""
    service = Visit(request, "read_metrics").service
    lines = service.requests.lines() + await asyncio.to_thread(figures, service)
    return Response("\n".join(lines) + "\n", media_type=metrics.MEDIA_TYPE)
