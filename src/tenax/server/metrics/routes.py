"""Serves metrics for Prometheus, alerts, and statistics of retries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.metrics.figures import Alerts, By, Overview, RetryStats
from tenax.server.metrics.render import families_of_database, families_of_server, render
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import moment_of, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine, services

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["metrics"], dependencies=[Depends(refuse_unknown_parameters)])
_TEXT = described(None)
_TEXT["responses"][200]["content"] = {"text/plain": {"schema": {"type": "string"}}}


@router.get("/metrics", response_class=Response, **_TEXT)
async def metrics(request: Request) -> Response:
    """Returns the metrics for Prometheus.

    They are in its text format. Only the leading server exports metrics of the whole database.
    """
    parts = services(request)
    snapshot = await parts.engine.metrics.snapshots.current()
    families = list(
        families_of_server(parts.engine.context.measures, parts.watchdog, leads=snapshot is not None)
    )
    if snapshot is not None:
        families += families_of_database(snapshot, parts.engine.context.settings.metrics_labels)
    return Response(render(families), media_type=CONTENT_TYPE)


@router.get("/v1/alerts", **described(Alerts))
async def alerts(request: Request) -> Response:
    """Returns the alerts.

    They are evaluated by the thresholds in the settings of this server.
    """
    return answer_view(await engine(request).metrics.alerts())


@router.get("/v1/stats", **described(RetryStats))
async def stats(
    request: Request,
    by: Annotated[By, Query(description="what to group by")] = "reason",
    since: Annotated[str | None, Query(max_length=100, description="RFC 3339, or how long ago: 2h")] = None,
    until: Annotated[str | None, Query(max_length=100, description="RFC 3339, or how long ago: 1h")] = None,
) -> Response:
    """Returns how retries ended.

    For each failure that was retried, the answer has how often each attempt succeeded, and the time that it cost. Without
    `since` and `until`, it covers the last day.
    """
    now = datetime.now(UTC)
    start = None if since is None else moment_of(since, now)
    end = None if until is None else moment_of(until, now, "until")
    return answer_view(await engine(request).metrics.stats(by=by, since=start, until=end))


@router.get("/v1/overview", **described(Overview))
async def overview(request: Request) -> Response:
    """Returns an overview for `tenax top`.

    The answer has figures, throughput by minute, queues, workers, and the newest failures.
    """
    return answer_view(await engine(request).metrics.overview())
