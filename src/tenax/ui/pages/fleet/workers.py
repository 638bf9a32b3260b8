"""Shows the workers, and one worker with its health, its leases, and why it gets no work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.fleet.health import HEALTHS
from tenax.model.fleet.views import Worker
from tenax.model.metrics.series import WorkerSeries
from tenax.ui.answers import answer_live, answer_page, dashboard, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject
from tenax.ui.pages.overview.key_figures import epoch
from tenax.ui.words import query

EVERY = 1.0  # seconds after which the pages are rendered again: health changes with time
MOST_SHOWN = 200  # workers of a list
TREND = timedelta(hours=1)
"""How far the trends of the list go back. The page of a worker shows a day."""
DAY = timedelta(days=1)
LIST = "fleet/workers.html"
ONE = "fleet/worker.html"
router = APIRouter(prefix="/workers")

Health = Annotated[Literal["", "healthy", "degraded", "unhealthy"], Query()]
Name = Annotated[str, Query(max_length=200)]
Gone = Annotated[Literal["", "yes"], Query()]


@router.get("")
async def show_list(request: Request, health: Health = "", name: Name = "", gone: Gone = "") -> Response:
    values = await _listed(dashboard(request), health, name, gone)
    live = f"/workers/-/live{query(health=health, name=name, gone=gone)}"
    return answer_page(request, LIST, title="Workers", live=live, **values)


@router.get("/-/live")
async def live_list(request: Request, health: Health = "", name: Name = "", gone: Gone = "") -> Response:
    here = dashboard(request)

    async def render() -> dict[str, str]:
        return render_blocks(here, LIST, ["workers"], await _listed(here, health, name, gone))

    return answer_live(request, Subject(("workers", health, name, gone), render, every=EVERY))


@router.get("/{name:path}/live")
async def live_worker(request: Request, name: str) -> Response:
    here, may_act = dashboard(request), visitor(request).may_act

    async def render() -> dict[str, str]:
        values = await _one(here, name)
        return render_blocks(here, ONE, ["worker", "load"], values | {"may_act": may_act})

    return answer_live(request, Subject(("worker", name, may_act), render, every=EVERY))


@router.get("/{name:path}")
async def show_worker(request: Request, name: str) -> Response:
    values = await _one(dashboard(request), name)
    live = f"/workers/{quote(name)}/live"
    return answer_page(request, ONE, title=f"Worker {name}", live=live, **values)


async def _listed(here: Dashboard, health: str, name: str, gone: str) -> dict[str, Any]:
    found = await here.engine.workers(all=gone == "yes")
    fitting = [one for one in found if health in ("", one.health) and name.casefold() in one.name.casefold()]
    shown = sorted(fitting, key=_urgency)[:MOST_SHOWN]
    return {
        "health": health,
        "name": name,
        "gone": gone,
        "total": len(found),
        "fitting": len(fitting),
        "by_health": {one: sum(worker.health == one for worker in found) for one in HEALTHS},
        "workers": [(one, trend) for one, trend in zip(shown, await _trends(here, shown), strict=True)],
    }


def _urgency(worker: Worker) -> tuple[bool, int, str]:
    """Sorts the workers that need a look to the top."""
    return worker.state == "gone", -HEALTHS.index(worker.health), worker.name


async def _trends(here: Dashboard, workers: Sequence[Worker]) -> Sequence[list[float | None]]:
    names = [one.name for one in workers]
    if not names:
        return []
    since = datetime.now(UTC) - TREND
    kind = ("worker trends", tuple(names))
    kept = await here.readings.newest(kind, lambda: here.engine.metrics.over_time.workers(names, since=since))
    return [_rates(one) for one in kept.value] if kept else [[] for _ in names]


def _rates(series: WorkerSeries) -> list[float | None]:
    return [None if one.failure_rate is None else round(100 * one.failure_rate, 2) for one in series.points]


async def _one(here: Dashboard, name: str) -> dict[str, Any]:
    worker, diagnosis, series = await asyncio.gather(
        here.engine.worker(name), here.engine.diagnose_worker(name), _day(here, name)
    )
    return {
        "worker": worker,
        "diagnosis": diagnosis,
        "rates": _rates(series) if series else [],
        "times": [epoch(one.at) for one in series.points] if series else [],
        "attempts": [
            {"name": "started", "tone": "busy", "values": [one.started for one in series.points]},
            {"name": "failed", "tone": "bad", "values": [one.failed for one in series.points]},
        ]
        if series
        else [],
    }


async def _day(here: Dashboard, name: str) -> WorkerSeries | None:
    since = datetime.now(UTC) - DAY
    kept = await here.readings.newest(
        ("worker day", name), lambda: here.engine.metrics.over_time.workers([name], since=since)
    )
    return kept.value[0] if kept else None
