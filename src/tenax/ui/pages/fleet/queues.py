"""Shows the queues, and one queue with its workers, its limits, and why it does not move."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.fleet.queue_limits import rate_words
from tenax.model.fleet.views import Queue
from tenax.ui.answers import answer_live, answer_page, dashboard, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject

EVERY = 1.0  # seconds after which the pages are rendered again
LIST = "fleet/queues.html"
ONE = "fleet/queue.html"
MOST_SHOWN = 200  # workers on the page of a queue
router = APIRouter(prefix="/queues")


@router.get("")
async def show_list(request: Request) -> Response:
    values = await _listed(dashboard(request))
    return answer_page(request, LIST, title="Queues", live="/queues/-/live", **values)


@router.get("/-/live")
async def live_list(request: Request) -> Response:
    here = dashboard(request)

    async def render() -> dict[str, str]:
        return render_blocks(here, LIST, ["queues"], await _listed(here))

    return answer_live(request, Subject("queues", render, every=EVERY))


@router.get("/{name}/live")
async def live_queue(request: Request, name: str) -> Response:
    here, may_act = dashboard(request), visitor(request).may_act

    async def render() -> dict[str, str]:
        return render_blocks(here, ONE, ["queue"], await _one(here, name) | {"may_act": may_act})

    return answer_live(request, Subject(("queue", name, may_act), render, every=EVERY))


@router.get("/{name}")
async def show_queue(request: Request, name: str) -> Response:
    values = await _one(dashboard(request), name)
    return answer_page(request, ONE, title=f"Queue {name}", live=f"/queues/{quote(name)}/live", **values)


async def _listed(here: Dashboard) -> dict[str, Any]:
    found = await here.engine.queues()
    return {"queues": [(one, limits_words(one)) for one in found]}


async def _one(here: Dashboard, name: str) -> dict[str, Any]:
    found = await here.engine.queue(name)
    serving = [one for one in found.serving if one.serves is None]
    return {
        "queue": found.queue,
        "limits": limits_words(found.queue),
        "diagnosis": found.diagnosis,
        "workers": serving[:MOST_SHOWN],
        "serving": len(serving),
    }


def limits_words(queue: Queue) -> list[str]:
    """Returns the limits of a queue in words."""
    words = [] if queue.concurrency is None else [f"{queue.concurrency:,} at once"]
    if queue.rate is not None:
        words.append(
            f"{rate_words(queue.rate)}, burst {queue.burst:,}" if queue.burst else rate_words(queue.rate)
        )
    return words
