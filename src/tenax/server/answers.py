"""What the API answers with, as its description says it. A test holds real answers against these types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import orjson
from pydantic import TypeAdapter
from starlette.responses import Response

from tenax.model.wire import Assignment, HeartbeatAnswer, RegistrationAnswer, ReportAnswer, Submitted
from tenax.store.tokens import Role

ExecutionStatus = Literal["running", "paused", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution as it stands, with its steps folded from its events."""

    id: int
    status: ExecutionStatus
    workflow: str
    version: str | None
    input: dict[str, Any]
    result: Any
    failure: dict[str, Any] | None
    key: str | None
    retry_of: int | None
    original_execution: int | None
    created_at: str
    deadline_at: str | None
    finished_at: str | None
    now: str
    """The database's time of this answer."""
    last_seq: int
    """The sequence number of the last event in it: where to go on with `/events?after=`."""
    steps: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ExecutionSummary:
    """An execution in a list. `waiting` is the work item that comes next, where there is one."""

    id: int
    workflow: str
    version: str | None
    status: ExecutionStatus
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    retry_of: int | None
    waiting: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Event:
    """An immutable record of what happened."""

    id: int
    seq: int
    type: str
    at: str
    step: str | None
    item: int | None
    attempt: int | None
    data: dict[str, Any]


@dataclass
class News:
    events: list[Event]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One decision on a retry: the rule that gave it, what it saw, and the same in plain English."""

    step: str | None
    attempt: int | None
    at: str
    verdict: str
    rule: str
    reason: str | None
    failure: dict[str, Any] | None
    decision: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    id: int
    status: Literal["cancelled"]
    changed: bool
    """False where it had been cancelled before."""


@dataclass(frozen=True, slots=True)
class RetryAnswer:
    """Waiting: the `steps` that now run at once. Finished: the new execution, linked to the old one by `retry_of`."""

    id: int
    created: bool
    steps: list[str] | None = None
    retry_of: int | None = None


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


EXECUTION = TypeAdapter(Execution)
EXECUTIONS = TypeAdapter(list[ExecutionSummary])
EVENTS = TypeAdapter(list[Event])
NEWS = TypeAdapter(News)
EXPLANATIONS = TypeAdapter(list[Explanation])
SUBMITTED = TypeAdapter(Submitted)
SUBMITTED_MANY = TypeAdapter(list[Submitted])
CANCELLED = TypeAdapter(CancelAnswer)
RETRIED = TypeAdapter(RetryAnswer)
TOKENS = TypeAdapter(list[TokenInfo])
NEW_TOKEN = TypeAdapter(NewToken)
HEALTH = TypeAdapter(Health)
VERSION = TypeAdapter(Version)
PROBLEM = TypeAdapter(Problem)
REGISTERED = TypeAdapter(RegistrationAnswer)
ASSIGNMENTS = TypeAdapter(list[Assignment])
REPORT_ANSWERS = TypeAdapter(list[ReportAnswer])
HEARTBEAT_ANSWER = TypeAdapter(HeartbeatAnswer)


def answer(value: Any, status: int = 200) -> Response:
    """As JSON. The views of the engine are plain values, the rest are dataclasses, which orjson knows."""
    return Response(orjson.dumps(value), status, media_type="application/json")


def answer_bytes(body: bytes) -> Response:
    return Response(body, media_type="application/json")
