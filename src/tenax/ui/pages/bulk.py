"""Shows the bulk jobs, and one job with its progress and its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.bulk.actions import REDRIVE
from tenax.model.filters.views import BulkJob
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import answer_live, answer_page, dashboard, engine, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject

SHOWN = 100  # jobs of the list
EVERY = 1.0  # seconds between two looks at a job
EVERY_OF_LIST = 2.0
LIST = "/bulk"
router = APIRouter(prefix=LIST)
JobId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@router.get("")
async def show_jobs(request: Request) -> Response:
    values = await _jobs(dashboard(request))
    return answer_page(request, "bulk/list.html", title="Bulk jobs", live=f"{LIST}/live", **values)


@router.get("/live")
async def live_jobs(request: Request) -> Response:
    here = dashboard(request)

    async def render() -> dict[str, str]:
        return render_blocks(here, "bulk/list.html", ["jobs"], await _jobs(here))

    return answer_live(request, Subject("bulk jobs", render, every=EVERY_OF_LIST))


async def _jobs(here: Dashboard) -> Mapping[str, Any]:
    return {"jobs": await here.engine.bulk.list(limit=SHOWN), "most": SHOWN}


@router.get("/{job_id}")
async def show_job(request: Request, job_id: JobId) -> Response:
    job = await engine(request).bulk.get(job_id)
    return answer_page(
        request, "bulk/one.html", title=f"Bulk job {job_id}", live=f"{LIST}/{job_id}/live", **_values(job)
    )


@router.get("/{job_id}/live")
async def live_job(request: Request, job_id: JobId) -> Response:
    """Keeps a job up to date: how far it is, and what became of its first executions."""
    here, someone = dashboard(request), visitor(request)
    await here.engine.bulk.get(job_id)

    async def render() -> dict[str, str]:
        own = {"may_act": someone.may_act, "form_token": someone.form_token}
        values = _values(await here.engine.bulk.get(job_id)) | own
        return render_blocks(here, "bulk/one.html", ["job"], values)

    key = ("bulk", job_id, someone.may_act, someone.form_token)
    return answer_live(request, Subject(key, render, every=EVERY))


def _values(job: BulkJob) -> dict[str, Any]:
    counts = job.counts
    return {
        "job": job,
        "is_of_letters": job.action == REDRIVE,
        "acted": job.total - counts.pending,
        "parts": [
            ("done", counts.done),
            ("skipped", counts.skipped),
            ("failed", counts.failed),
            ("pending", counts.pending),
        ],
    }
