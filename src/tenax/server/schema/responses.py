"""What the API answers with, as its description says it. A test holds real answers against these types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import orjson
from msgspec import structs
from pydantic import TypeAdapter
from starlette.responses import Response, StreamingResponse

from tenax.engine.slices import TimeSlice
from tenax.model.execution_views import Event, Execution, News
from tenax.model.views import (
    ApprovalAnswer,
    ExecutionStatus,
    ExecutionSummary,
    Explanation,
    ItemInfo,
    RetryAnswer,
    SignalAnswer,
    StoredWorkflow,
    Verified,
    View,
    WorkflowInfo,
)
from tenax.model.wire import (
    Assignments,
    EndedLifeAnswer,
    HeartbeatAnswer,
    RegistrationAnswer,
    ReportAnswers,
    Submitted,
)
from tenax.server.schema.view_types import list_adapter, view_adapter
from tenax.store.fleet.tokens import Role

VIEWS_AT_ONCE = 100
"""Entries of a list that are written without a break."""
STEPS_AT_ONCE = 200
"""Steps of an execution that are written without a break."""
_encode_view = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    id: int
    status: Literal["cancelled"]
    changed: bool
    """False where it had been cancelled before."""


@dataclass(frozen=True, slots=True)
class PauseAnswer:
    id: int
    status: Literal["paused", "running"]
    changed: bool
    """False where it was so already."""


@dataclass(frozen=True, slots=True)
class Tree:
    """An execution and its children. `more` is how many children there are beyond those that are shown."""

    id: int
    workflow: str
    status: ExecutionStatus
    step: str | None
    """The step of the parent that started it. Like the next two null at the top."""
    item: int | None
    attempt: int | None
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    children: list[Tree]
    more: int


@dataclass(frozen=True, slots=True)
class CallbackAnswer:
    """`applied`: it decided what becomes of the work item. `late`: it was recorded, and changed nothing."""

    status: Literal["applied", "late"]
    verdict: str | None


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token, all but its secret."""

    id: int
    name: str
    role: Role
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token. Its secret is shown this once."""

    id: int
    name: str
    role: Role
    token: str


@dataclass(frozen=True, slots=True)
class Health:
    status: Literal["ok", "ready"]


@dataclass(frozen=True, slots=True)
class HealthInFull:
    """The same with what the server measures of itself."""

    status: Literal["ok"]
    measured: dict[str, float]
    """`loop_holds_total`: how often the event loop was held for longer than `loop_hold`; and the longest hold."""


@dataclass(frozen=True, slots=True)
class Version:
    version: str
    api: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An error (RFC 9457). `errors` says everything that is wrong with a body or a definition."""

    type: str
    title: str
    status: int
    remedy: str | None = None
    errors: list[dict[str, Any]] | None = None


EXECUTION = view_adapter(Execution)
EXECUTIONS = list_adapter(ExecutionSummary)
EVENTS = list_adapter(Event)
NEWS = view_adapter(News)
EXPLANATIONS = list_adapter(Explanation)
SUBMITTED = TypeAdapter(Submitted)
SUBMITTED_MANY = TypeAdapter(list[Submitted])
CANCELLED = TypeAdapter(CancelAnswer)
RETRIED = view_adapter(RetryAnswer)
PAUSED = TypeAdapter(PauseAnswer)
SIGNALLED = view_adapter(SignalAnswer)
APPROVAL = view_adapter(ApprovalAnswer)
ITEMS = list_adapter(ItemInfo)
TREE = TypeAdapter(Tree)
STORED_WORKFLOW = view_adapter(StoredWorkflow)
WORKFLOWS = list_adapter(WorkflowInfo)
CALLED_BACK = TypeAdapter(CallbackAnswer)
VERIFIED = view_adapter(Verified)
TOKENS = TypeAdapter(list[TokenInfo])
NEW_TOKEN = TypeAdapter(NewToken)
HEALTH = TypeAdapter(Health)
HEALTH_IN_FULL: TypeAdapter[Health | HealthInFull] = TypeAdapter(Health | HealthInFull)
VERSION = TypeAdapter(Version)
PROBLEM = TypeAdapter(Problem)
REGISTERED = TypeAdapter(RegistrationAnswer)
ASSIGNMENTS = TypeAdapter(list[Assignments])
REPORT_ANSWERS = TypeAdapter(list[ReportAnswers])
HEARTBEAT_ANSWER = TypeAdapter(HeartbeatAnswer)
ENDED_LIFE_ANSWER = TypeAdapter(EndedLifeAnswer)


def answer(value: Any, status: int = 200) -> Response:
    """Answers with plain values or dataclasses as JSON. Typed views: see `answer_view`."""
    return Response(orjson.dumps(value), status, media_type="application/json")


async def answer_list(pages: AsyncIterator[Sequence[View]]) -> Response:
    """Answers with the entries of all pages as one list. What is longer than a page is sent page by page, as it is asked for."""
    first = await anext(pages, None)
    second = await anext(pages, None)
    if first is None or second is None:
        return answer_view(first or [])
    return StreamingResponse(_joined(first, second, pages), media_type="application/json")


async def _joined(
    first: Sequence[View], second: Sequence[View], rest: AsyncIterator[Sequence[View]]
) -> AsyncIterator[bytes]:
    yield b"[" + _entries(first)
    yield b"," + _entries(second)
    async for page in rest:
        yield b"," + _entries(page)
    yield b"]"


def answer_many(views: list[Any]) -> Response:
    """Answers with a list that may be long: it is written part by part, as it is asked for. The list is used up."""
    if len(views) <= VIEWS_AT_ONCE:
        return answer_view(views)
    return StreamingResponse(_in_parts(views), media_type="application/json")


async def _in_parts(views: list[Any]) -> AsyncIterator[bytes]:
    opening, time_slice = b"[", TimeSlice()
    while views:
        if time_slice.is_over:
            await time_slice.give_way()
        yield opening + _entries(views[:VIEWS_AT_ONCE])
        del views[:VIEWS_AT_ONCE]
        opening = b","
    yield b"]"


def _entries(page: Sequence[View]) -> bytes:
    """Writes the entries of a page, which is not empty, without the brackets around them."""
    return _encode_view(page)[1:-1]


def answer_view(view: View | Sequence[View], status: int = 200) -> Response:
    return Response(_encode_view(view), status, media_type="application/json")


async def answer_execution(view: Execution) -> Response:
    """Answers with an execution. The steps of a large one are written in several turns."""
    if len(view.steps) <= STEPS_AT_ONCE:
        return answer_view(view)
    head = _encode_view(structs.replace(view, steps={}))
    assert head.endswith(b'"steps":{}}'), "the steps are the last field"
    pieces = [head[: -len("}}")]]
    names, time_slice = list(view.steps), TimeSlice()
    for start in range(0, len(names), STEPS_AT_ONCE):
        if time_slice.is_over:
            await time_slice.give_way()
        part = {name: view.steps[name] for name in names[start : start + STEPS_AT_ONCE]}
        pieces += (b"," if start else b"", _encode_view(part)[1:-1])
    pieces.append(b"}}")
    return answer_bytes(b"".join(pieces))


def answer_bytes(body: bytes) -> Response:
    return Response(body, media_type="application/json")
