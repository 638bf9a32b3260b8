"""Defines the outcome of an attempt: the facts that a worker reports, and the failure that the server derives from them.

The values are frozen msgspec structs, which cost a third of a dataclass to make. They are never part of a reference cycle, so the
garbage collector skips them (`gc=False`).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from msgspec import Struct, field

from tenax.model.durations import Seconds

OutcomeStatus = Literal["succeeded", "failed", "not_completed", "snoozed", "accepted"]
"""How an attempt ended. `accepted` is no end: the callee of an async step has taken the work, and will call back."""
FailureClass = Literal[
    "transient",
    "timeout",
    "worker_lost",
    "worker_unavailable",
    "queue_timeout",
    "logical",
    "invalid",
    "denied",
    "not_found",
    "budget",
    "cancelled",
]
FAILURE_CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)

RETRIED_BY_DEFAULT: frozenset[FailureClass] = frozenset(
    {"transient", "timeout", "worker_lost", "worker_unavailable", "queue_timeout"}
)
INFRASTRUCTURE: frozenset[FailureClass] = frozenset({"worker_lost", "worker_unavailable", "queue_timeout"})
NEVER_RETRIED: frozenset[FailureClass] = frozenset({"budget", "cancelled"})

ResultFile = Literal["missing", "unreadable", "completed", "failed", "budget_exceeded", "other"]
"""The state of a process's result file. `other` is JSON that states neither a success nor a failure."""
Connection = Literal["refused", "reset", "dns", "timeout", "tls", "unreachable", "protocol", "other"]


class Facts(Struct, frozen=True, omit_defaults=True, gc=False):
    """Holds the typed facts of a failed attempt. A worker reports the facts that it knows, and the server classifies them."""

    message: str | None = None
    status_code: int | None = None
    connection: Connection | None = None
    """How a connection failed, if there was no answer."""
    exit_code: int | None = None
    signal: int | None = None
    oom_killed: bool = False
    result_file: ResultFile | None = None
    exception: str | None = None
    """The qualified name of the exception's type: `builtins.ValueError`, `mylib.errors.QuotaExceeded`."""
    exception_bases: tuple[str, ...] = ()
    """The qualified names of its base classes, nearest first, without `object`."""
    timed_out: bool = False
    fatal: bool = False
    """True if the handler itself states the failure (`Fatal`, `success: false`)."""
    retry_after: Seconds | None = None
    """The seconds after which the callee allows another request (`Retry-After`)."""
    dependency: str | None = None
    """The dependency that was called: the host of a URL, or the key that the definition names."""
    stderr_tail: str | None = None
    traceback: str | None = None
    data: Any = None
    """The body of an error answer, or the data that a failed handler returned."""
    request: dict[str, Any] | None = None
    """What the attempt was asked to do: the rendered keys of its step, without secrets."""
    child: dict[str, Any] | None = None
    """The failure of a child: its execution_id, class, reason, message, step and attempts, and the failure of its own child."""
    failure_class: FailureClass | None = None
    """The class, if it is known already: from the server itself, or from a user of `tenax decide`."""
    reason: str | None = None


class Failure(Struct, frozen=True, gc=False):
    """Is a classified failure."""

    failure_class: FailureClass
    reason: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    """The facts that are set, without the message: status_code, exit_code, retry_after, exception, dependency, ..."""

    def as_dict(self) -> dict[str, Any]:
        return {"class": self.failure_class, "reason": self.reason, "message": self.message, **self.evidence}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Failure:
        """Reads a stored failure, which `as_dict` has made."""
        evidence = {name: value for name, value in body.items() if name not in ("class", "reason", "message")}
        return cls(body["class"], body["reason"], body["message"], evidence)


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """Holds the cost and the tokens that an attempt reports."""

    cost_usd: float | None = None
    tokens: int | None = None


class Outcome(Struct, frozen=True, omit_defaults=True, gc=False):
    """Says how an attempt ended."""

    status: OutcomeStatus
    result: Any = None
    facts: Facts | None = None
    """The facts, for `failed` and `not_completed`."""
    after: Seconds | None = None
    """Seconds until the next run: of `Retry(after=...)`, which replaces the policy's delay, or of a snooze."""
    usage: Usage | None = None
    recorded: bool = False
    """True if a transaction of the attempt itself has recorded its result, or may have. The recorded result then wins."""
