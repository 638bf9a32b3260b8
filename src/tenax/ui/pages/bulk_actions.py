"""Makes bulk jobs from a selection, and starts, stops and resumes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.bulk.actions import ACTIONS, REDRIVE
from tenax.errors import UsageError
from tenax.model.fleet.queue_limits import PER_SECOND
from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.filter_form import selected
from tenax.ui.forms import read_form, required
from tenax.ui.pages.bulk import LIST, JobId

router = APIRouter(prefix=LIST)

WORDS = {
    "retry": "retry now; failed work gets one attempt more",
    "reset": "count nothing any more, and try again",
    "cancel": "end executions and their children",
    "pause": "start nothing of them until they are resumed",
    "resume": "go on with paused executions",
    "resolve": "a step was done by hand; its result is null",
    "complete": "a step was done by hand, with a result",
    "fail": "fail open items without a retry",
    "reschedule": "change the policy of waiting retries",
}
UNITS = {"s": "a second", "m": "a minute", "h": "an hour", "d": "a day"}


@router.get("/new")
async def new_form(request: Request) -> Response:
    """Asks what to do with a selection: the rows that were chosen (`id`), or all that the filter selects."""
    given = request.query_params
    action = given.get("action", "retry")
    return answer_dialog(
        request,
        "bulk/new.html",
        title="Redrive dead letters" if action == REDRIVE else "Act on many executions",
        filter=selected(given),
        action=action,
        is_of_letters=action == REDRIVE,
        words={name: WORDS[name] for name in WORDS if name in ACTIONS},
        units=UNITS,
        back="/dead-letters" if action == REDRIVE else "/executions",
    )


@router.post("/new")
async def create(request: Request) -> Response:
    """Makes the job, which is a preview until it is started."""
    form = await read_form(request)
    result = form.get("result", "").strip()
    job = await engine(request).bulk.create_of_text(
        form.get("action", ""),
        required(form, "filter", "a filter"),
        reason=required(form, "reason", "a reason"),
        actor=actor(request),
        rate=_rate(form),
        canary=_number(form, "canary", int),
        max_failed=_number(form, "max_failed", float),
        step=form.get("step", "").strip() or None,
        result=_json(result, "the result") if result else None,
        has_result=bool(result),
        policy=_policy(form),
    )
    return answer_done(request, f"{LIST}/{job.id}")


@router.post("/{job_id}/start")
async def start(request: Request, job_id: JobId) -> Response:
    await engine(request).bulk.start(job_id, actor=actor(request))
    return answer_done(request, f"{LIST}/{job_id}")


@router.get("/{job_id}/stop")
async def stop_form(request: Request, job_id: JobId) -> Response:
    return answer_dialog(request, "bulk/stop.html", title="Stop a bulk job", id=job_id)


@router.post("/{job_id}/stop")
async def stop(request: Request, job_id: JobId) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).bulk.stop(job_id, actor=actor(request), reason=reason)
    return answer_done(request, f"{LIST}/{job_id}")


@router.get("/{job_id}/resume")
async def resume_form(request: Request, job_id: JobId) -> Response:
    job = await engine(request).bulk.get(job_id)
    return answer_dialog(request, "bulk/resume.html", title="Resume a bulk job", job=job)


@router.post("/{job_id}/resume")
async def resume(request: Request, job_id: JobId) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).bulk.resume(job_id, actor=actor(request), reason=reason)
    return answer_done(request, f"{LIST}/{job_id}")


def _rate(form: Mapping[str, str]) -> float | None:
    """Returns the rate in a second."""
    rate = _number(form, "rate", float)
    unit = form.get("unit", "s")
    if unit not in UNITS:
        raise UsageError(f"there is no unit {unit[:20]!r} of a rate", remedy=f"choose {', '.join(UNITS)}")
    return None if rate is None else rate / PER_SECOND[unit]


def _number(form: Mapping[str, str], name: str, kind: type[int | float]) -> Any:
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise UsageError(f"{name.replace('_', ' ')}: expected {what}, found {text[:40]!r}") from None


def _policy(form: Mapping[str, str]) -> dict[str, Any] | None:
    text = form.get("policy", "").strip()
    if not text:
        return None
    found = _json(text, "the policy")
    if not isinstance(found, dict):
        raise UsageError("the policy must be an object", remedy='such as {"initial_delay": "10m"}')
    return found


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{what} is not JSON: {error}", remedy='a text is in quotes: "ok"') from None
