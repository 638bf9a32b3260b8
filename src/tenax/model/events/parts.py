"""Defines the parts that are common to the data of several event types: a failure, a decision, counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tenax.model.attempt.outcome import Connection, FailureClass, ResultFile
from tenax.model.decision import Check, Controls, Decision, DelayParts, Ledger, Verdict
from tenax.model.values import Value

Time = Annotated[datetime, Meta(tz=True)]


class EventData(Value, omit_defaults=True, forbid_unknown_fields=True):
    """Is the data of an event or a part of it."""


class ChildFailure(EventData):
    """Holds the failure of a child execution within the failure of its parent."""

    execution_id: int
    class_: str | None = field(name="class")
    reason: str | None
    message: str | None
    step: str | UnsetType | None = UNSET
    attempts: int | UnsetType | None = UNSET
    child: ChildFailure | UnsetType | None = UNSET


class FailureRecord(EventData):
    """Holds a classified failure with its facts (`outcome.Facts`)."""

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
    request: dict[str, Any] | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    """The number of attempts, in a failure that ended a step."""
    child: ChildFailure | UnsetType = UNSET
    step: str | UnsetType = UNSET
    """The step that failed, in a failure that ended an execution."""


class DecisionRecord(Value, omit_defaults=True):
    """Holds a decision. Only three fields are stored for a success at the first attempt.

    Unknown fields are allowed, since other versions of the decision function stored other fields. The law `decision-replays` checks the
    decisions of this version.
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
    """Names the attempt of a parent that started a child."""

    execution_id: int
    step: str
    item: int | None
    attempt: int


class RetryCount(EventData):
    """Holds the number of an attempt, and whether an earlier one failed."""

    attempt: int
    max_attempts: int | None
    is_retry: bool


class VaryRecord(EventData):
    """Holds the entry of `vary` that applies to an attempt, and the keys that it overrides."""

    entry: int
    override: dict[str, Any]


class WaitingRecord(EventData):
    """Says what an attempt of one of the server's own steps waits for."""

    for_: Annotated[
        Literal["sleep", "signal", "approval", "child"],
        Meta(description="`sleep`, `signal`, `approval`, `child`"),
    ] = field(name="for")
    signal: str | UnsetType = UNSET
    until: Time | UnsetType = UNSET
    deadline_at: Time | UnsetType = UNSET


class ItemCounts(EventData):
    """Counts the items of a fan-out by how they ended."""

    total: int
    succeeded: int
    failed: int


class OperatorEnd(EventData):
    """Says how an operator ended a work item."""

    action: Annotated[
        Literal["resolve", "complete", "fail"], Meta(description="`resolve`, `complete`, `fail`")
    ]
    was: str
    worker: str | UnsetType = UNSET


class UsageRecord(EventData):
    """Holds the usage that an attempt reported."""

    cost_usd: float | None
    tokens: int | None


if TYPE_CHECKING:
    AnyFailure = FailureRecord | Mapping[str, Any]
    AnyDecision = DecisionRecord | Decision | msgspec.Raw
else:
    # A struct does not check its fields when it is made. An event is built with the failure and the decision in any of these types, whose
    # JSON is the same as that of the records. Only events that are read are checked against the records.
    AnyFailure = FailureRecord
    AnyDecision = DecisionRecord
