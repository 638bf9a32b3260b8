"""The parts that the data of several event types have in common: a failure, a decision, counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tenax.model.attempt.outcome import Connection, FailureClass, ResultFile
from tenax.model.decision import Check, Controls, Decision, DelayParts, Ledger, Verdict
from tenax.model.parse.values import Value

Time = Annotated[datetime, Meta(tz=True)]


class EventData(Value, omit_defaults=True, forbid_unknown_fields=True):
    """The data of an event, or a part of it."""


class ChildFailure(EventData):
    """Why a child execution failed, as its parent's failure keeps it."""

    execution_id: int
    class_: str | None = field(name="class")
    reason: str | None
    message: str | None
    step: str | UnsetType | None = UNSET
    attempts: int | UnsetType | None = UNSET
    child: ChildFailure | UnsetType | None = UNSET


class FailureRecord(EventData):
    """A classified failure, with the facts that were seen of it (`outcome.Facts`)."""

    class_: FailureClass = field(name="class")
    reason: str
    message: str
    status_code: int | UnsetType = UNSET
    connection: Connection | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    signal: int | UnsetType = UNSET
    oom_killed: bool | UnsetType = UNSET
    result_file: ResultFile | UnsetType = UNSET
    exception: str | UnsetType = UNSET
    exception_bases: tuple[str, ...] | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET
    fatal: bool | UnsetType = UNSET
    retry_after: float | UnsetType = UNSET
    dependency: str | UnsetType = UNSET
    stderr_tail: str | UnsetType = UNSET
    traceback: str | UnsetType = UNSET
    data: Any | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    """Of a failure that ended a step."""
    child: ChildFailure | UnsetType = UNSET
    step: str | UnsetType = UNSET
    """Of a failure that ended an execution: the step that failed."""


class DecisionRecord(Value, omit_defaults=True):
    """A decision. Of a plain first-time success only three fields are stored.

    Unknown fields are allowed: other versions of the decider stored other ones. The law `decision-replays` holds those of this version.
    """

    verdict: Verdict
    rule: str
    version: int
    reason: str | UnsetType = UNSET
    checks: tuple[Check, ...] | UnsetType = UNSET
    before: Ledger | UnsetType = UNSET
    after: Ledger | UnsetType = UNSET
    max_attempts: int | UnsetType | None = UNSET
    roll: float | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    execution_id: int | UnsetType = UNSET
    node_id: str | UnsetType = UNSET
    elapsed: float | UnsetType = UNSET
    controls: Controls | UnsetType = UNSET
    delay: DelayParts | UnsetType | None = UNSET
    matched_rule: int | UnsetType | None = UNSET


class ParentRecord(EventData):
    """The attempt of a parent that started a child."""

    execution_id: int
    step: str
    item: int | None
    attempt: int


class RetryCount(EventData):
    """The number of an attempt, and whether an earlier one failed."""

    attempt: int
    max_attempts: int | None
    is_retry: bool


class VaryRecord(EventData):
    """The entry of `vary` that an attempt has, and the inputs that it changes."""

    entry: int
    override: dict[str, Any]


class WaitingRecord(EventData):
    """What an attempt waits for that the server carries out itself."""

    for_: Annotated[
        Literal["sleep", "signal", "approval", "child"],
        Meta(description="`sleep`, `signal`, `approval`, `child`"),
    ] = field(name="for")
    signal: str | UnsetType = UNSET
    until: Time | UnsetType = UNSET
    deadline_at: Time | UnsetType = UNSET


class ItemCounts(EventData):
    """The items of a fan-out by how they ended."""

    total: int
    succeeded: int
    failed: int


class UsageRecord(EventData):
    """What an attempt says that it used up."""

    cost_usd: float | None
    tokens: int | None


if TYPE_CHECKING:
    AnyFailure = FailureRecord | Mapping[str, Any]
    AnyDecision = DecisionRecord | Decision | msgspec.Raw
else:
    # A struct takes what it is given: an event that is built has its failure and its decision as they are at hand, and their JSON
    # is that of the records. An event that is read is checked for the records.
    AnyFailure = FailureRecord
    AnyDecision = DecisionRecord
