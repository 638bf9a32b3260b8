"""What goes between server and workers, over HTTP or within one process. Both sides use these types.

Of some there are many. Over HTTP those that are alike go together (`Assignments`, `Reports`, `ReportAnswers`): what they share is
said once, and the rest is one list for each field. Fields that are at their default are left out: that must stay what it says
to be absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from tenax.model.attempt.outcome import Outcome
from tenax.model.health import Health, HealthReport, HealthTerms, WorkerState
from tenax.model.wire_types import (
    Attempt,
    Files,
    Id,
    Item,
    Labels,
    LeaseWait,
    Name,
    Names,
    Slots,
    Source,
    Text,
    Token,
    WorkerName,
)

PROTOCOL = 2
"""The version of what server and workers say to each other. It grows with each change that the other side must know of.

2: secrets in a text for the shell are quoted by the worker. Workers and servers of version 1 do not say which they speak."""
OLDEST_WORKER = 2
"""The oldest protocol of a worker that this server gives work to. One of version 1 would run an unquoted secret in a shell."""
OLDEST_SERVER = 1
"""The oldest protocol of a server that this worker takes work from."""

SecretSlot = tuple[tuple[str | int, ...], tuple[str | dict[str, str], ...]]
"""Where in an assignment's `spec` a secret goes: the path, and the parts of the text (`{"secret": NAME}` or plain).

A secret with `"quote": "word"` stands in a text for the shell: the worker quotes it as one word."""


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A worker asks for as many items as it has free slots. Parks until there is work, or `wait` seconds are over."""

    worker: WorkerName
    grant: Token
    """A new UUID for each request: what the request was granted is known by it, should the answer be lost."""
    slots: Slots
    runtimes: Names
    queues: Names = ("default",)
    labels: Labels = field(default_factory=dict)
    execution_id: Id | None = None
    """Lease only items of this execution (`tenax run`)."""
    wait: LeaseWait = 20.0
    lost_grants: tuple[Token, ...] = ()
    """Earlier requests whose answer never came: what they were granted is handed back, uncounted."""
    life: Token | None = None
    """As in the registration: one that was taken over by a later life of the same name gets nothing."""


class Assignment(msgspec.Struct, gc=False):
    """One attempt of one work item, leased to a worker, its inputs rendered.

    A value like the others. There is one for each attempt, and a msgspec struct of so many fields costs a quarter of a dataclass to make.
    """

    execution_id: int
    item_id: int
    attempt: int
    token: str
    """The lease token. Every write about this attempt names it."""
    step: str
    runtime: str
    spec: dict[str, Any]
    timeout: float
    receipt: str
    """The item's receipt token, the same over all its attempts: for the callee's idempotency."""
    workflow: str
    max_attempts: int | None
    base_dir: str | None = None
    """The folder of the workflow's file, where it was submitted from one."""
    dependency: str | None = None
    secrets: tuple[SecretSlot, ...] = ()
    item: int | None = None
    """The place in the list of a fan-out, from 0."""
    callback: str | None = None
    """Where the callee of an async step posts its outcome."""
    compensates: bool = False
    """It undoes what the step did."""
    is_retry: bool = False
    """An earlier attempt of it ended in a failure; one that was only handed back or snoozed did not."""


class Assignments(msgspec.Struct, omit_defaults=True, gc=False):
    """Assignments that differ only in what is a list here: in each list one entry for each of them, in the same order."""

    step: str
    runtime: str
    spec: list[dict[str, Any]]
    """Or a single one for all of them."""
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


class Report(msgspec.Struct, gc=False):
    """What an attempt came to, by the worker that holds its lease."""

    execution_id: int
    item_id: int
    attempt: int
    token: str
    outcome: Outcome
    step: str | None = None
    """For the record of a report that comes too late, when the item may be gone; so is the next."""
    item: int | None = None


class Reports(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Reports on attempts of one step: in each list one entry for each of them, in the same order."""

    outcome: Sequence[Outcome]
    """Or a single one for all of them."""
    execution_id: list[Id]
    item_id: list[Id]
    attempt: list[Attempt]
    token: list[Token]
    step: Name | None = None
    item: list[Item | None] | None = None
    result: list[Any] | None = None
    """What is absent from their outcomes, so that plain successes can share one."""


class ReportAnswer(msgspec.Struct, gc=False):
    """`applied`: decided now (or before: the same report again gets the same answer). `late`: recorded, changed nothing."""

    item_id: int
    status: Literal["applied", "late"]
    verdict: str | None = None
    """complete, retry, hold, fail or stop, where it was applied."""


@dataclass(slots=True)
class ReportAnswers:
    """The same answer to the reports on these items."""

    item_id: list[int]
    status: Literal["applied", "late"]
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A lease handed back uncounted: the worker is draining, or has no handler for it."""

    execution_id: Id
    item_id: Id
    attempt: Attempt
    token: Token
    reason: Literal["draining", "no_handler"]
    detail: str | None = None


@dataclass(slots=True)
class Held:
    """A lease that a worker still holds, named in its heartbeat."""

    item_id: Id
    token: Token


@dataclass(frozen=True, slots=True)
class Heartbeat:
    worker: WorkerName
    holding: tuple[Held, ...] = ()
    lost_grants: tuple[Token, ...] = ()
    leaving: bool = False
    """The worker stops, in good order: this is its last word."""
    life: Token | None = None
    health: HealthReport | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    revoked: tuple[Held, ...] = ()
    """Leases that are no longer this worker's: stop that work, its report would be late."""
    known: bool = True
    """False: the server knows no worker of this name (any more). Register again."""
    superseded: bool = False
    """Another life goes by this name now: finish what is running, ask for nothing more, and end."""
    state: WorkerState = "active"
    leave: bool = False
    """An operator drains the worker: finish what is running, then end."""
    health: Health = "healthy"
    """The server's verdict."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A worker says who it is, when it starts."""

    worker: WorkerName
    runtimes: Names
    queues: Names = ("default",)
    labels: Labels = field(default_factory=dict)
    slots: Slots = 1
    version: Text | None = None
    life: Token | None = None
    """A UUID, new at each start of the process: a later life takes over the name from an earlier one."""
    execution_id: Id | None = None
    """It serves this execution and its children only (`tenax run`)."""
    protocol: int = 1
    """Of what the worker says and hears. One that does not say speaks the first."""


@dataclass(frozen=True, slots=True)
class EndedLife:
    """A supervisor has seen the process of a worker die."""

    worker: WorkerName
    life: Token
    """Of the registration. A later life of the same name is not touched."""


@dataclass(frozen=True, slots=True)
class EndedLifeAnswer:
    lost: int
    """Leases that it held: their attempts are decided on as `worker_lost`."""


@dataclass(frozen=True, slots=True)
class RegistrationAnswer:
    lease: float
    """Seconds a lease lasts without a heartbeat."""
    heartbeat: float
    """Seconds between heartbeats."""
    health: HealthTerms = field(default_factory=HealthTerms)
    """By what the worker judges itself."""
    protocol: int = 1
    """Of the server. One that does not say speaks the first."""


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One execution to start. The definition is the text of a file, or the name of a workflow already stored."""

    source: Source | None = None
    filename: Text | None = None
    workflow: Name | None = None
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    key: Name | None = None
    """Unique: the same key is the same execution."""
    base_dir: Text | None = None
    files: Files = msgspec.field(default_factory=dict)
    """The definitions that `file:` of workflow steps names, by their path from the folder of the source."""


@dataclass(frozen=True, slots=True)
class Submitted:
    id: int
    created: bool
    """False where the key was known: the execution is the earlier one."""
