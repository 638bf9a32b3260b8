"""Answers the requests for the pages of one execution, and keeps them up to date."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tenax.model.views import ItemStatus
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import HEADERS, answer_live, answer_page, dashboard, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject
from tenax.ui.pages.execution import attempt_rows, data, logs, overview
from tenax.ui.pages.execution import step as step_pages
from tenax.ui.pages.execution.frame import FRAME, frame
from tenax.ui.pages.execution.links import execution_address, item_address, step_address
from tenax.ui.words import query

EVERY = 10.0  # seconds after which an open execution is drawn again: time has passed
LOGS_EVERY = 2.0  # the same of the output of its attempts, which makes no events
ENDED_EVERY = 60.0  # the same of one that has ended: a message of another server may be lost
ITEM_STATES: tuple[str, ...] = get_args(ItemStatus)
router = APIRouter(prefix="/executions/{execution_id:int}")
download_router = APIRouter(prefix="/executions")

ExecutionId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
StepName = Annotated[str, Path(max_length=200)]
ItemNumber = Annotated[int, Path(ge=0, le=LARGEST_ATTEMPT)]
Before = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]
After = Annotated[int, Query(ge=-1, le=LARGEST_ATTEMPT)]
State = Annotated[str | None, Query(max_length=20)]
OnlyStep = Annotated[str | None, Query(max_length=200)]
OnlyItem = Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)]
OnlyAttempt = Annotated[int | None, Query(ge=1, le=LARGEST_ATTEMPT)]
Ended = Annotated[str, Query(max_length=5)]
Values = Callable[[], Awaitable[dict[str, Any]]]


def _live_address(address: str, values: dict[str, Any]) -> str:
    return f"{address}/live{query(ended='true' if values['execution'].finished_at else None)}"


def _follow(
    request: Request,
    key: Hashable,
    execution_id: int,
    template: str,
    blocks: Sequence[str],
    values: Values,
    *,
    ended: bool,
    every: float = EVERY,
) -> Response:
    """Answers with the live updates of some blocks of a page, and of its head."""
    here, may_act = dashboard(request), visitor(request).may_act

    async def render() -> dict[str, str]:
        found = await values() | {"may_act": may_act}
        return render_blocks(here, FRAME, ["execution_head"], found) | render_blocks(
            here, template, blocks, found
        )

    subject = Subject(
        ("execution", execution_id, key, may_act),
        render,
        lambda: here.engine.changes(execution_id),
        every=ENDED_EVERY if ended else every,
    )
    return answer_live(request, subject)


@router.get("")
async def show(request: Request, execution_id: ExecutionId) -> Response:
    values = await overview.overview(dashboard(request).engine, execution_id)
    return answer_page(
        request, overview.TEMPLATE, live=_live_address(execution_address(execution_id), values), **values
    )


@router.get("/live")
async def live(request: Request, execution_id: ExecutionId, ended: Ended = "") -> Response:
    engine = dashboard(request).engine
    return _follow(
        request, "overview", execution_id, overview.TEMPLATE, overview.BLOCKS,
        lambda: overview.overview(engine, execution_id), ended=bool(ended),
    )  # fmt: skip


@router.get("/steps")
async def steps(
    request: Request, execution_id: ExecutionId, state: State = None, after: After = 0
) -> Response:
    """Lists the steps of an execution with many of them."""
    values = await overview.steps_page(dashboard(request).engine, execution_id, state, max(after, 0))
    return answer_page(request, "executions/steps.html", **values)


@router.get("/attempts")
async def attempts(request: Request, execution_id: ExecutionId, before: Before = None) -> Response:
    values = await _attempts(dashboard(request), execution_id, before)
    address = (
        None if before is not None else _live_address(f"{execution_address(execution_id)}/attempts", values)
    )
    return answer_page(request, "executions/attempts.html", live=address, **values)


@router.get("/attempts/live")
async def attempts_live(request: Request, execution_id: ExecutionId, ended: Ended = "") -> Response:
    here = dashboard(request)
    return _follow(
        request, "attempts", execution_id, "executions/attempts.html", ["attempts"],
        lambda: _attempts(here, execution_id, None), ended=bool(ended),
    )  # fmt: skip


async def _attempts(here: Dashboard, execution_id: int, before: int | None) -> dict[str, Any]:
    execution = await here.engine.get(execution_id)
    return {
        **await frame(here.engine, execution, "Attempts"),
        "attempts": attempt_rows.page_of(attempt_rows.all_rows(execution), before),
        "fan_outs": [
            (name, step_address(execution_id, name), found.items)
            for name, found in execution.steps.items()
            if found.items
        ],
    }


@router.get("/data")
async def show_data(request: Request, execution_id: ExecutionId) -> Response:
    values = await data.data_view(dashboard(request).engine, execution_id, _server(request))
    address = _live_address(f"{execution_address(execution_id)}/data", values)
    return answer_page(request, data.TEMPLATE, live=address, **values)


@router.get("/data/live")
async def data_live(request: Request, execution_id: ExecutionId, ended: Ended = "") -> Response:
    engine, server = dashboard(request).engine, _server(request)
    return _follow(
        request, ("data", server), execution_id, data.TEMPLATE, data.BLOCKS,
        lambda: data.data_view(engine, execution_id, server), ended=bool(ended),
    )  # fmt: skip


@router.get("/logs")
async def show_logs(
    request: Request,
    execution_id: ExecutionId,
    step: OnlyStep = None,
    item: OnlyItem = None,
    attempt: OnlyAttempt = None,
) -> Response:
    values = await logs.logs_view(dashboard(request).engine, execution_id, step, item, attempt)
    ended = "true" if values["execution"].finished_at else None
    chosen = query(ended=ended, step=step, item=item, attempt=attempt)
    live_at = f"{execution_address(execution_id)}/logs/live{chosen}"
    return answer_page(request, logs.TEMPLATE, live=live_at, **values)


@router.get("/logs/live")
async def logs_live(
    request: Request,
    execution_id: ExecutionId,
    step: OnlyStep = None,
    item: OnlyItem = None,
    attempt: OnlyAttempt = None,
    ended: Ended = "",
) -> Response:
    engine = dashboard(request).engine
    return _follow(
        request, ("logs", step, item, attempt), execution_id, logs.TEMPLATE, logs.BLOCKS,
        lambda: logs.logs_view(engine, execution_id, step, item, attempt), ended=bool(ended), every=LOGS_EVERY,
    )  # fmt: skip


def _server(request: Request) -> str:
    """Returns the address of the server as the browser knows it."""
    return str(request.base_url).rstrip("/")


@router.get("/steps/{name}")
async def show_step(
    request: Request, execution_id: ExecutionId, name: StepName, before: Before = None
) -> Response:
    values = await step_pages.step_view(dashboard(request).engine, execution_id, name, before)
    address = None if before is not None else _live_address(step_address(execution_id, name), values)
    return answer_page(request, step_pages.STEP, live=address, **values)


@router.get("/steps/{name}/live")
async def step_live(
    request: Request, execution_id: ExecutionId, name: StepName, ended: Ended = ""
) -> Response:
    engine = dashboard(request).engine
    return _follow(
        request, ("step", name), execution_id, step_pages.STEP, step_pages.STEP_BLOCKS,
        lambda: step_pages.step_view(engine, execution_id, name, None), ended=bool(ended),
    )  # fmt: skip


@router.get("/steps/{name}/items")
async def show_items(
    request: Request, execution_id: ExecutionId, name: StepName, state: State = None, after: After = -1
) -> Response:
    """Lists the items of a fan-out. An unknown state is as good as none."""
    wanted = state if state in ITEM_STATES else None
    values = await step_pages.items_view(dashboard(request).engine, execution_id, name, wanted, after)
    return answer_page(request, step_pages.ITEMS, **values)


@router.get("/steps/{name}/items/{item}")
async def show_item(
    request: Request, execution_id: ExecutionId, name: StepName, item: ItemNumber, before: Before = None
) -> Response:
    values = await step_pages.item_view(dashboard(request).engine, execution_id, name, item, before)
    address = None if before is not None else _live_address(item_address(execution_id, name, item), values)
    return answer_page(request, step_pages.ITEM, live=address, **values)


@router.get("/steps/{name}/items/{item}/live")
async def item_live(
    request: Request, execution_id: ExecutionId, name: StepName, item: ItemNumber, ended: Ended = ""
) -> Response:
    engine = dashboard(request).engine
    return _follow(
        request, ("item", name, item), execution_id, step_pages.ITEM, step_pages.ITEM_BLOCKS,
        lambda: step_pages.item_view(engine, execution_id, name, item, None), ended=bool(ended),
    )  # fmt: skip


@download_router.get("/{execution_id:int}.json")
async def download(request: Request, execution_id: ExecutionId) -> Response:
    """Sends the whole execution as a file, as the API shows it."""
    execution = await dashboard(request).engine.get(execution_id)
    shown = {"content-disposition": f'attachment; filename="execution-{execution_id}.json"'}
    return StreamingResponse(data.as_json(execution), media_type="application/json", headers=HEADERS | shown)
