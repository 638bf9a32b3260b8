"""What the API accepts: the types of the wire, with the bounds that a server must hold against strangers.

They are read straight from the bytes of a request by adapters made once. Details of an outcome are bent into shape
rather than refused: a report is worth more than its details.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from uuid import UUID

import structlog
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import CoreSchema, core_schema

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.attempt.usage import bounded_cost, bounded_tokens
from tenax.model.durations import LONGEST
from tenax.model.health import Health, HealthReport
from tenax.model.names import MAX_WORKER_NAME, worker_name_fault
from tenax.model.wire import (
    EndedLife,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    Release,
    Reports,
    Submission,
)
from tenax.model.wire_columns import check_lengths, is_plain
from tenax.server.problems import InvalidRequest
from tenax.server.schema.struct_requests import struct_body
from tenax.store.fleet.tokens import LARGEST_ID, LONGEST_NAME, Role

T = TypeVar("T")
_log = structlog.get_logger("tenax.server")

BATCH = 1000
SLOTS = 1000
LONGEST_LEASE_WAIT = 60.0
LARGEST_ATTEMPT = 2**31 - 1
LARGEST_COUNT = 2**31 - 1
LARGEST_LIMIT = 1_000_000
FILES = 1000
"""Definitions of children that may come with one; `max_body` bounds them all together."""


def _uuid(text: str) -> str:
    """In the one form in which tokens are compared."""
    try:
        return str(UUID(text))
    except ValueError:
        raise ValueError("not a UUID") from None


def _lease_token(*_: object) -> CoreSchema:
    """The form in which a server gives tokens is known without a call of Python: there is one in every report."""
    as_given = core_schema.str_schema(pattern=_AS_GIVEN)
    any_form = core_schema.no_info_after_validator_function(_uuid, core_schema.str_schema())
    return core_schema.union_schema(
        [as_given, any_form],
        mode="left_to_right",
        custom_error_type="not_a_uuid",
        custom_error_message="Value error, not a UUID",
    )


def _seconds(value: float) -> float:
    return 0.0 if math.isnan(value) else min(max(value, 0.0), LONGEST)


def _detail(text: str) -> str:
    return text[:1000]


def _count(value: int) -> int:
    return min(max(value, 0), LARGEST_COUNT)


def _worker_name(name: str) -> str:
    if (fault := worker_name_fault(name)) is not None:
        raise ValueError(f"{name!r} {fault}")
    return name


_AS_GIVEN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
# PostgreSQL's text has no NUL.
_PLAIN = r"^[^\x00]*$"
Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Attempt = Annotated[int, Field(ge=0, le=LARGEST_ATTEMPT)]
LeaseToken = Annotated[
    str, GetPydanticSchema(_lease_token), WithJsonSchema({"type": "string", "format": "uuid"})
]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_PLAIN)]
WorkerName = Annotated[str, Field(min_length=1, max_length=MAX_WORKER_NAME), AfterValidator(_worker_name)]
Names = Annotated[tuple[Name, ...], Field(max_length=100)]
Labels = Annotated[dict[Name, Annotated[str, Field(max_length=200, pattern=_PLAIN)]], Field(max_length=100)]
Text = Annotated[str, Field(max_length=1000, pattern=_PLAIN)]
Seconds = Annotated[float, AfterValidator(_seconds)]
Source = Annotated[str, Field(pattern=_PLAIN)]
Files = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=1000, pattern=_PLAIN)], Source],
    Field(max_length=FILES),
]
Item = Annotated[int, Field(ge=0, le=LARGEST_ATTEMPT)]
Limit = Annotated[int, Field(ge=1, le=LARGEST_LIMIT)]
Count = Annotated[int, AfterValidator(_count)]

_FOR_PEOPLE = ConfigDict(extra="forbid")
"""A key that is not known is a mistake of a person. Workers of a newer version may send more than is known here."""


@dataclass(frozen=True, slots=True)
class SubmissionBody(Submission):
    """One execution to start: the `source` of a definition, or the name of a stored `workflow`."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    source: Source | None = None
    filename: Text | None = None
    workflow: Name | None = None
    input: dict[str, Any] = field(default_factory=dict)
    key: Name | None = None
    base_dir: Text | None = None
    files: Files = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchBody:
    """Executions to start in one transaction: all of them or none."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    submissions: Annotated[list[SubmissionBody], Field(max_length=BATCH)]


@dataclass(frozen=True, slots=True)
class ReasonBody:
    """Why someone cancels, pauses, drains or resumes."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    reason: Text | None = None


@dataclass(frozen=True, slots=True)
class ApprovalBody:
    """A yes or a no to a step that waits for one, or to one `item` of its fan-out."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    reason: Text | None = None
    item: Item | None = None


@dataclass(frozen=True, slots=True)
class SignalBody:
    """A signal. With a `key` that is known it is the earlier one, sent again."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    name: Name
    data: Any = None
    key: Name | None = None


@dataclass(frozen=True, slots=True)
class WorkflowBody:
    """A definition to store, with those that `file:` of its steps names, by their path from its own folder."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    source: Source
    filename: Text | None = None
    files: Files = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RetryBody:
    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    from_failed: bool = False
    """Of a finished execution: the steps that succeeded stay done."""
    reason: Text | None = None


@dataclass(frozen=True, slots=True)
class LimitsBody:
    """The limits of a queue, all of them: what is absent or null is no limit."""

    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    concurrency: Limit | None = None
    """How many items run at once."""
    rate: Annotated[float, Field(gt=0, le=LARGEST_LIMIT)] | None = None
    """How many start in a second."""
    burst: Limit | None = None
    """How many start at once after a pause; only with a rate, and as many as that where it is absent."""
    reason: Text | None = None


@dataclass(frozen=True, slots=True)
class TokenBody:
    __pydantic_config__: ClassVar[ConfigDict] = _FOR_PEOPLE

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=_PLAIN)]
    role: Role


@dataclass(frozen=True, slots=True)
class RegistrationBody(Registration):
    """A worker says who it is."""

    worker: WorkerName
    runtimes: Names
    queues: Names = ("default",)
    labels: Labels = field(default_factory=dict)
    slots: Annotated[int, Field(ge=1, le=SLOTS)] = 1
    version: Text | None = None
    life: LeaseToken | None = None
    execution_id: Id | None = None
    protocol: Count = 1
    """Of what the worker says and hears. One that does not say speaks the first."""


@dataclass(frozen=True, slots=True)
class LeaseBody(LeaseRequest):
    """A worker asks for as many items as it has free slots."""

    worker: WorkerName
    grant: LeaseToken
    slots: Annotated[int, Field(ge=1, le=SLOTS)]
    runtimes: Names
    queues: Names = ("default",)
    labels: Labels = field(default_factory=dict)
    execution_id: Id | None = None
    wait: Annotated[float, Field(ge=0, le=LONGEST_LEASE_WAIT)] = 20.0
    lost_grants: tuple[LeaseToken, ...] = ()
    life: LeaseToken | None = None


_FACTS = struct_body(Facts, "What was seen of a failed attempt.", retry_after=Seconds | None)
_USAGE = struct_body(
    Usage,
    "What an attempt used up.",
    cost_usd=Annotated[float, AfterValidator(bounded_cost)] | None,
    tokens=Annotated[int, AfterValidator(bounded_tokens)] | None,
)
_OUTCOME = struct_body(
    Outcome, "What an attempt came to.", facts=_FACTS | None, after=Seconds | None, usage=_USAGE | None
)
_REPORTS = struct_body(
    Reports,
    "Reports on attempts of one step: in each list one entry for each of them, or in `outcome` a single one for all.",
    outcome=list[_OUTCOME],  # type: ignore[valid-type]  # a type that is made here
    execution_id=list[Id],
    item_id=list[Id],
    attempt=list[Attempt],
    token=list[LeaseToken],
    step=Name | None,
    item=list[Item | None] | None,
)


@dataclass(frozen=True, slots=True)
class ReleaseBody(Release):
    """A lease handed back, uncounted."""

    execution_id: Id
    item_id: Id
    attempt: Attempt
    token: LeaseToken
    reason: Literal["draining", "no_handler"]
    detail: Annotated[str, AfterValidator(_detail)] | None = None


@dataclass(slots=True)
class HeldBody(Held):
    """A lease that a worker still holds."""

    item_id: Id
    token: LeaseToken


@dataclass(frozen=True, slots=True)
class HealthReportBody(HealthReport):
    """What a worker says of itself."""

    status: Health = "healthy"
    last_check: Annotated[str, Field(max_length=100, pattern=_PLAIN)] | None = None
    consecutive_failures: Count = 0
    total_executions: Count = 0
    failed_executions: Count = 0
    average_execution_time_ms: Seconds = 0.0
    queue_depth: Count = 0
    overdue: Count = 0


def _if_sound(
    value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> HealthReportBody | None:
    """None for a report that is none: the heartbeat, and the leases it names, are worth more."""
    try:
        report: HealthReportBody | None = read(value)
    except ValidationError as error:
        worker = (info.data or {}).get("worker", "?")
        _complain(worker, str(InvalidRequest.of_body(error, "its report")))
        return None
    return report


@lru_cache(maxsize=10_000)
def _complain(worker: str, error: str) -> None:
    """Once for each worker and fault, not with every heartbeat."""
    _log.warning("a worker reports its health in a way that is not understood", worker=worker, error=error)


@dataclass(frozen=True, slots=True)
class HeartbeatBody(Heartbeat):
    """A worker is alive, and still holds these leases."""

    worker: WorkerName
    holding: tuple[HeldBody, ...] = ()
    lost_grants: tuple[LeaseToken, ...] = ()
    life: LeaseToken | None = None
    health: Annotated[HealthReportBody | None, WrapValidator(_if_sound)] = None


@dataclass(frozen=True, slots=True)
class EndedLifeBody(EndedLife):
    """A worker's process has died, and this was its life."""

    worker: WorkerName
    life: LeaseToken


def _each_its_own(reports: Reports) -> Reports:
    """Else a body could stand for a thousand times its length."""
    if len(reports.outcome) == 1 < len(reports.token) and not is_plain(reports.outcome[0]):
        raise ValueError(
            "a single `outcome` for several attempts can only be a success (the results are in `result`)"
        )
    check_lengths(reports)
    return reports


def _at_most_a_batch(reports: list[Reports]) -> list[Reports]:
    if sum(len(group.token) for group in reports) > BATCH:
        raise ValueError(f"reports on at most {BATCH} attempts are taken at once")
    return reports


SUBMISSION = TypeAdapter(SubmissionBody)
SUBMISSIONS = TypeAdapter(BatchBody)
REASON = TypeAdapter(ReasonBody)
APPROVAL = TypeAdapter(ApprovalBody)
SIGNAL = TypeAdapter(SignalBody)
WORKFLOW = TypeAdapter(WorkflowBody)
CALLBACK: TypeAdapter[Any] = TypeAdapter(Any)
"""Whatever the callee has to say: `tenax.model.attempt.callback` reads it."""
RETRY = TypeAdapter(RetryBody)
TOKEN = TypeAdapter(TokenBody)
LIMITS = TypeAdapter(LimitsBody)
REGISTRATION = TypeAdapter(RegistrationBody)
LEASE = TypeAdapter(LeaseBody)
_READ_REPORTS: Any = Annotated[
    list[Annotated[_REPORTS, AfterValidator(_each_its_own)]],  # type: ignore[valid-type]  # the same
    Field(max_length=BATCH),
    AfterValidator(_at_most_a_batch),
]
REPORTS: TypeAdapter[list[Reports]] = TypeAdapter(_READ_REPORTS)
RELEASES = TypeAdapter(Annotated[list[ReleaseBody], Field(max_length=BATCH)])
HEARTBEAT = TypeAdapter(HeartbeatBody)
ENDED_LIFE = TypeAdapter(EndedLifeBody)
