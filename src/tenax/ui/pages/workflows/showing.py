"""Shows one workflow: its graph, its figures, its policies, its definition and its versions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.dialects.native.definition import definition_text
from tenax.engine.engine import Engine
from tenax.model.filters.terms import Filter, Match, Words
from tenax.model.metrics.series import Series, StepFigures
from tenax.ui.answers import answer_live, answer_page, dashboard, engine, render_blocks
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject
from tenax.ui.pages.workflows import step_policies
from tenax.ui.words import query

SPANS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7)}
SHORT_HASH = 12
"""Characters of a hash that name a version in addresses and on pages."""
LAST_EXECUTIONS = 5
EVERY = 5.0  # seconds after which the figures are read again
TEMPLATE = "workflows/show.html"
router = APIRouter(prefix="/workflows/{name}")
Name = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Version = Annotated[str, Query(max_length=64)]
Span = Literal["1h", "24h", "7d"]


@router.get("")
async def show(request: Request, name: Name, version: Version = "", since: Span = "24h") -> Response:
    """Shows the graph, the figures of the workflow and of its steps, and its last executions."""
    here = dashboard(request)
    values = await frame(here.engine, name, version)
    plan = values["definition"].plan
    live = f"{address(name)}/live{query(version=version, since=since)}"
    return answer_page(
        request,
        TEMPLATE,
        live=live,
        tab="Steps",
        graph=step_policies.graph_of(plan, name, version),
        **values,
        **await _figures(here, name, version, since),
    )


@router.get("/live")
async def live(request: Request, name: Name, version: Version = "", since: Span = "24h") -> Response:
    here = dashboard(request)

    async def render() -> dict[str, str]:
        values = await _figures(here, name, version, since)
        return render_blocks(here, TEMPLATE, ["figures"], values | {"name": name, "version": version})

    return answer_live(request, Subject(("workflow", name, version, since), render, every=EVERY))


@router.get("/policies")
async def policies(
    request: Request,
    name: Name,
    version: Version = "",
    step: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """Shows the resolved policy of each step. `step` leads to the page that has this one."""
    values = await frame(engine(request), name, version)
    plan = values["definition"].plan
    shown = step_policies.page_of_step(plan, step) if step else page
    pages = -(-len(plan.workflow.steps) // step_policies.STEPS_ON_PAGE)
    return answer_page(
        request,
        "workflows/policies.html",
        tab="Policies",
        policies=list(step_policies.policies_of(plan, shown)),
        chosen=step,
        page=shown,
        last_page=pages,
        **values,
    )


@router.get("/source")
async def source(request: Request, name: Name, version: Version = "") -> Response:
    """Shows the definition as a workflow file. A large one is written beside the event loop."""
    values = await frame(engine(request), name, version)
    text = await asyncio.to_thread(definition_text, values["definition"].plan.workflow)
    return answer_page(request, "workflows/source.html", tab="Source", text=text, **values)


@router.get("/versions")
async def versions(request: Request, name: Name, version: Version = "") -> Response:
    """Lists the definitions that were stored or submitted under this name."""
    values = await frame(engine(request), name, version)
    return answer_page(request, "workflows/versions.html", tab="Versions", **values)


async def frame(engine: Engine, name: str, version: str) -> dict[str, Any]:
    """Returns what each page of a workflow has."""
    definition = await engine.definition(name, content=version or None)
    here, asked = address(name), query(version=version)
    return {
        "title": name,
        "name": name,
        "version": version,
        "definition": definition,
        "here": here,
        "tabs": [
            ("Steps", f"{here}{asked}"),
            ("Policies", f"{here}/policies{asked}"),
            ("Source", f"{here}/source{asked}"),
            ("Versions", f"{here}/versions{asked}"),
        ],
    }


def address(name: str) -> str:
    return f"/workflows/{quote(name, safe='')}"


def filter_of(name: str) -> Filter:
    """Returns the filter that selects the executions of a workflow."""
    return Filter((Words("workflow", (Match(name),)),))


async def _figures(here: Dashboard, name: str, version: str, span: Span) -> dict[str, Any]:
    since = datetime.now(UTC) - SPANS[span]
    over_time = here.engine.metrics.over_time
    chosen = filter_of(name)
    definition = await here.engine.definition(name, content=version or None)
    series = await over_time.series(since=since, workflow=name)
    figures = {one.step: one for one in await over_time.steps(name, since=since)}
    last = await here.engine.page(chosen, limit=LAST_EXECUTIONS)
    return {
        "since": span,
        "spans": list(SPANS),
        "series": series,
        "times": [round(datetime.fromisoformat(one.at).timestamp()) for one in series.points],
        "totals": _totals(series, list(figures.values())),
        "figures": figures,
        "steps": step_policies.summaries_of(definition.plan),
        "step_count": len(definition.plan.workflow.steps),
        "policy_address": lambda step: step_policies.policy_address(name, version, step),
        "last": last.executions,
        "filter": str(chosen),
    }


def _totals(series: Series, figures: Sequence[StepFigures]) -> dict[str, float | None]:
    completed = sum(one.executions_completed for one in series.points)
    failed = sum(one.executions_failed for one in series.points)
    recovered, again = (
        sum(one.retries_succeeded for one in figures),
        sum(one.retries_failed for one in figures),
    )
    return {
        "started": sum(one.executions_started for one in series.points),
        "success_rate": completed / (completed + failed) if completed + failed else None,
        "retries": sum(one.retries for one in series.points),
        "retry_success_rate": recovered / (recovered + again) if recovered + again else None,
    }
