"""Defines the messages between server and workers, over HTTP or within one process.

Over HTTP, similar messages go together (`Assignments`, `Reports`, `ReportAnswers`): fields with the same value are sent once, and each
other field is a list. Fields with their default value are left out, so a default can never be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tenax.model.attempt.outcome import Outcome
from tenax.model.fleet.health import Health, HealthReport, HealthTerms, WorkerState
from tenax.model.wire_types import (
    BATCH,
    Attempt,
    Count,
    Delay,
    Files,
    Fraction,
    Id,
    Item,
    Labels,
    LeaseWait,
    Name,
    Names,
    OutputPlace,
    OutputText,
    Slots,
    Source,
    Text,
    Time,
    Token,
    WorkerName,
)

PROTOCOL = 2
"""The version of the protocol between server and workers. It grows with each change that the other side must know.

2: the worker quotes secrets in a text for the shell. Workers and servers of version 1 do not send their version."""
OLDEST_WORKER = 2
"""The oldest protocol version of a worker that gets work from this server. A worker of version 1 would not quote secrets in a shell."""
OLDEST_SERVER = 1
"""The oldest protocol version of a server from which this worker takes work."""

SecretSlot = tuple[tuple[str | int, ...], tuple[str | dict[str, str], ...]]
"""The place of a secret in an assignment's `spec`: the path, and the parts of the text (`{"secret": NAME}` or plain text).

A secret with `"quote": "word"` is part of a text for the shell, and the worker quotes it as one word."""


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """Asks for as many items as a worker has free slots. The request waits in the server for work, `wait` seconds at most."""

    worker: WorkerName
    grant: Token
    """A new UUID for each request. It identifies the granted leases if the answer is lost."""
    slots: Slots
    runtimes: Names
    queues: Names = ("default",)
    labels: Labels = field(default_factory=dict)
    execution_id: Id | None = None
    """Lease only items of this execution (`tenax run`)."""
    wait: LeaseWait = 20.0
    lost_grants: tuple[Token, ...] = ()
    """Earlier requests whose answers never came. Their leases are handed back, uncounted."""
    life: Token | None = None
    """The `life` of the registration. A life whose name was taken over by a later life gets nothing."""


class Assignment(msgspec.Struct, gc=False):
    """Is one attempt of a work item, leased to a worker, with rendered inputs.

    It must not be changed. It is a msgspec struct, since there is one for each attempt: a dataclass takes four times as long to make.
    """

    execution_id: int
    item_id: int
    attempt: int
    token: str
    """The lease token. Every report and release of this attempt names it."""
    step: str
    runtime: str
    spec: dict[str, Any]
    timeout: float
    receipt: str
    """The receipt of the item, which is the same for all of its attempts. Callees can use it as an idempotency key."""
    workflow: str
    max_attempts: int | None
    base_dir: str | None = None
    """The folder of the workflow's file, if it was submitted from a file."""
    dependency: str | None = None
    secrets: tuple[SecretSlot, ...] = ()
    item: int | None = None
    """The number of the item in its fan-out, from 0."""
    callback: str | None = None
    """The URL to which the callee of an async step posts its outcome."""
    compensates: bool = False
    """True if the attempt undoes the step."""
    is_retry: bool = False
    """True if an earlier attempt failed. Attempts that were handed back or snoozed do not count."""
    checkpoint: str | None = None
    """The last checkpoint of the earlier attempts, as JSON."""


class Assignments(msgspec.Struct, omit_defaults=True, gc=False):
    """Holds assignments that differ only in the fields that are lists here. Each list has one entry for each assignment."""

    step: str
    runtime: str
    spec: list[dict[str, Any]]
    """One entry for each assignment, or a single one for all of them."""
    timeout: float
    workflow: str
    max_attempts: int | None
    execution_id: list[int]
    item_id: list[int]
    attempt: list[int]
    token: list[str]
    receipt: list[str]
    base_dir: str | None = None
    dependency: str | None = None
    secrets: tuple[SecretSlot, ...] = ()
    item: list[int | None] | None = None
    callback: list[str | None] | None = None
    compensates: bool = False
    is_retry: bool = False
    checkpoint: list[str | None] | None = None


class Report(msgspec.Struct, gc=False):
    """Reports the outcome of an attempt, by the worker that holds its lease."""

    execution_id: int
    item_id: int
    attempt: int
    token: str
    outcome: Outcome
    step: str | None = None
    """The step. This and the next field are for the record of a late report, when the item may be gone."""
    item: int | None = None


class Reports(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Holds reports on attempts of one step. Each list has one entry for each report."""

    outcome: Sequence[Outcome]
    """The outcomes: one for each report, or a single one for all of them."""
    execution_id: list[Id]
    item_id: list[Id]
    attempt: list[Attempt]
    token: list[Token]
    step: Name | None = None
    item: list[Item | None] | None = None
    result: list[Any] | None = None
    """The results, which the outcomes then leave out, so that plain successes can share one outcome."""


class ReportAnswer(msgspec.Struct, gc=False):
    """Answers a report. `applied`: it was decided on, now or when it was first sent. `late`: it was recorded and changed nothing."""

    item_id: int
    status: Literal["applied", "late"]
    verdict: str | None = None
    """`complete`, `retry`, `hold`, `fail` or `stop`, if the report was applied."""


@dataclass(slots=True)
class ReportAnswers:
    """Is the same answer to the reports on several items."""

    item_id: list[int]
    status: Literal["applied", "late"]
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Hands a lease back, because the worker is draining or has no handler. The attempt is not counted."""

    execution_id: Id
    item_id: Id
    attempt: Attempt
    token: Token
    reason: Literal["draining", "no_handler"]
    detail: str | None = None


@dataclass(slots=True)
class Held:
    """Names a lease that a worker still holds, in its heartbeat."""

    item_id: Id
    token: Token


@dataclass(frozen=True, slots=True)
class HeldUsage:
    """Tells what the attempt of a lease has used so far. A sum that is None is not known."""

    item_id: Id
    token: Token
    cost_usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    worker: WorkerName
    holding: tuple[Held, ...] = ()
    lost_grants: tuple[Token, ...] = ()
    leaving: bool = False
    """True in the last heartbeat of a worker that stops normally."""
    life: Token | None = None
    health: HealthReport | None = None
    usage: tuple[HeldUsage, ...] = ()
    """The usage of attempts that has changed since the last heartbeat."""


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    revoked: tuple[Held, ...] = ()
    """Leases that no longer belong to this worker. It must stop their attempts, since their reports would be late."""
    known: bool = True
    """False if the server does not know this worker. The worker must register again."""
    superseded: bool = False
    """True if a later life has taken over the name. The worker must finish its attempts, ask for no more, and end."""
    state: WorkerState = "active"
    leave: bool = False
    """True if an operator drains the worker. It must finish its attempts and end."""
    health: Health = "healthy"
    """The health as the server judges it."""


@dataclass(frozen=True, slots=True)
class HeldCheckpoint:
    """Gives the checkpoint of a running attempt, as JSON."""

    item_id: Id
    token: Token
    number: Count
    """The number of the checkpoint within its attempt. An earlier one never replaces a later one."""
    value: Source


@dataclass(frozen=True, slots=True)
class HeldProgress:
    """Tells how far a running attempt is."""

    item_id: Id
    token: Token
    fraction: Fraction | None = None
    message: Text | None = None


@dataclass(frozen=True, slots=True)
class OutputPart:
    """Is a part of what an attempt has printed. The receipt of the item authorizes it, because it may come after the attempt's end."""

    execution_id: Id
    item_id: Id
    receipt: Text
    step: Name
    attempt: Attempt
    start: OutputPlace
    """The place of the part in the attempt's output, in bytes."""
    text: OutputText
    item: Item | None = None
    compensates: bool = False


@dataclass(frozen=True, slots=True)
class AttemptNotes:
    """Tells what running attempts do. It is sent only if there is something to tell, and no lease depends on it."""

    worker: WorkerName
    checkpoints: Annotated[tuple[HeldCheckpoint, ...], Meta(max_length=BATCH)] = ()
    progress: Annotated[tuple[HeldProgress, ...], Meta(max_length=BATCH)] = ()
    output: Annotated[tuple[OutputPart, ...], Meta(max_length=BATCH)] = ()


@dataclass(frozen=True, slots=True)
class AttemptNotesAnswer:
    revoked: tuple[Held, ...] = ()
    """The leases whose checkpoints were not kept, because they are not valid any more."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Registers a worker when it starts."""

    worker: WorkerName
    runtimes: Names
    queues: Names = ("default",)
    labels: Labels = field(default_factory=dict)
    slots: Slots = 1
    version: Text | None = None
    life: Token | None = None
    """A UUID, new at each start of the process: a later life takes over the name from an earlier one."""
    execution_id: Id | None = None
    """The only execution that the worker serves, with its children (`tenax run`)."""
    protocol: int = 1
    """The version of the protocol that the worker speaks. A worker that does not send it has version 1."""


@dataclass(frozen=True, slots=True)
class EndedLife:
    """Reports that a supervisor has seen the process of a worker die."""

    worker: WorkerName
    life: Token
    """The life of the registration. A later life with the same name is not affected."""


@dataclass(frozen=True, slots=True)
class EndedLifeAnswer:
    lost: int
    """The number of leases that it held. Their attempts are decided on as `worker_lost`."""


@dataclass(frozen=True, slots=True)
class RegistrationAnswer:
    lease: float
    """Seconds for which a lease lasts without a heartbeat."""
    heartbeat: float
    """Seconds between heartbeats."""
    health: HealthTerms = field(default_factory=HealthTerms)
    """The thresholds by which the worker judges itself."""
    protocol: int = 1
    """The protocol version of the server. A server that does not send it has version 1."""
    max_checkpoint: int = 0
    """Bytes of a checkpoint, at most. A server that does not send it takes no notes."""
    max_output: int = 0
    """Bytes of an attempt's output that are kept. 0: none are sent."""


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes an execution to start. The definition is the text of a file, or the name of a stored workflow."""

    source: Source | None = None
    filename: Text | None = None
    workflow: Name | None = None
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    key: Name | None = None
    """A unique key. A second submission with the same key is the same execution."""
    base_dir: Text | None = None
    files: Files = msgspec.field(default_factory=dict)
    """The definitions that `file:` of workflow steps names, by their paths from the folder of the source."""
    start_at: Time | None = None
    """When its first steps start. A time in the past is now."""
    start_in: Delay | None = None
    """Seconds after which its first steps start. Excludes `start_at`."""


@dataclass(frozen=True, slots=True)
class Submitted:
    id: int
    created: bool
    """False if the key was used before. The id is that of the earlier execution."""
