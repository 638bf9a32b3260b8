"""Declares the answers of the API and writes them. A test compares real answers with these types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType, structs
from starlette.responses import Response, StreamingResponse

from tenax.engine.slices import TimeSlice
from tenax.model.execution_views import Execution
from tenax.model.fleet.health import WorkerState
from tenax.model.values import View
from tenax.store.fleet.tokens import Role

VIEWS_AT_ONCE = 100
"""Entries of a list that are encoded without giving way to the event loop."""
STEPS_AT_ONCE = 200
"""Steps of an execution that are encoded without giving way to the event loop."""
_encode_view = msgspec.json.Encoder().encode


class CancelAnswer(View):
    id: int
    status: Literal["cancelled"]
    changed: bool
    """False if it had been cancelled before."""


class PauseAnswer(View):
    id: int
    status: Literal["paused", "running"]
    changed: bool
    """False if it was in this state before."""


class NewAttuneExecution(View):
    """Describes a new execution in the form of Attune. `id` is its number in Tenax."""

    id: int
    action_ref: str
    status: Literal["requested"]
    config: dict[str, Any] | None
    """The parameters that were given."""
    retry_of: int | None
    """The execution that it repeats."""
    original_execution: int | None
    """The first execution of the chain."""
    retry_reason: str | None


class AttuneAnswer(View):
    data: NewAttuneExecution


class CallbackAnswer(View):
    """Answers a callback. `applied` means that the callback decided the outcome of the work item, `late` that it was recorded
    and changed nothing."""

    status: Literal["applied", "late"]
    verdict: str | None


class TokenInfo(View):
    """Describes a token without its secret."""

    id: int
    name: str
    role: Role
    created_at: str
    revoked_at: str | None


class NewToken(View):
    """Holds a new token with its secret, which is shown only this once."""

    id: int
    name: str
    role: Role
    token: str


class Health(View):
    """Says that the server is alive, or that it is ready."""

    status: Literal["ok", "ready"]
    measured: dict[str, float] | UnsetType = UNSET
    """Present on request: how often the event loop was held for longer than `loop_hold` (`loop_holds_total`), and the longest hold."""


class Version(View):
    version: str
    api: str


class Problem(View):
    """Describes an error (RFC 9457). `errors` lists everything that is wrong with a body or a definition."""

    type: str
    title: str
    status: int
    remedy: str | None = None
    errors: list[dict[str, Any]] | None = None


class WorkerAnswer(View):
    name: str
    state: WorkerState
    changed: bool
    """False if it was in this state before."""


class NameAnswer(View):
    name: str
    changed: bool
    """False if the name belonged to no token."""


async def answer_list(pages: AsyncIterator[Sequence[View]]) -> Response:
    """Answers with the entries of all pages as one list. More than one page is streamed, and each page is read only when it is sent."""
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
    """Answers with a list that may be long. A long list is streamed in parts, and its entries are removed as they are sent."""
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
    """Encodes the entries of a page without the brackets around them. The page must not be empty."""
    return _encode_view(page)[1:-1]


def answer_view(view: Any, status: int = 200) -> Response:
    """Answers with a typed value, or a list of typed values, as JSON."""
    return Response(_encode_view(view), status, media_type="application/json")


async def answer_execution(view: Execution) -> Response:
    """Answers with an execution. The steps of a large one are encoded in parts, so that the event loop stays free."""
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
