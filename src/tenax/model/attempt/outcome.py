"""What an attempt came to: the facts a worker reports, and the failure the server reads from them.

Frozen values: msgspec structs, which cost a third of a dataclass to make. They are in no cycles, so the collector need not look at them.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from msgspec import Struct, field

OutcomeStatus = Literal["succeeded", "failed", "not_completed", "snoozed", "accepted"]
"""`accepted` is no end yet: the callee of an async step took the work, and will call back."""
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
"""What a process left as its result file. `other` is JSON that states neither a success nor a failure."""
Connection = Literal["refused", "reset", "dns", "timeout", "tls", "unreachable", "protocol", "other"]


class Facts(Struct, frozen=True, omit_defaults=True, gc=False):
    """What was seen of a failed attempt, typed. A worker fills in what it knows; the server classifies."""

    message: str | None = None
    status_code: int | None = None
    connection: Connection | None = None
    """How a connection failed, where there was no answer at all."""
    exit_code: int | None = None
    signal: int | None = None
    oom_killed: bool = False
    result_file: ResultFile | None = None
    exception: str | None = None
    """Qualified name of the exception's type: `builtins.ValueError`, `mylib.errors.QuotaExceeded`."""
    exception_bases: tuple[str, ...] = ()
    """Qualified names of its base classes, nearest first, without `object`."""
    timed_out: bool = False
    fatal: bool = False
    """The handler itself says that it failed (`Fatal`, `success: false`)."""
    retry_after: float | None = None
    """Seconds the callee asked to be left alone (`Retry-After`)."""
    dependency: str | None = None
    """What it talked to: the host of a URL, or the key the definition names."""
    stderr_tail: str | None = None
    traceback: str | None = None
    data: Any = None
    """The body of an error answer, or what a failed handler gave along."""
    child: dict[str, Any] | None = None
    """Of a failed child: its execution_id, class, reason, message, step and attempts (and its own child, further down)."""
    failure_class: FailureClass | None = None
    """Set where the class is known already: by the server itself, or by a person who asks `tenax decide`."""
    reason: str | None = None


class Failure(Struct, frozen=True, gc=False):
    """A classified failure."""

    failure_class: FailureClass
    reason: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    """The facts that are set, less the message: status_code, exit_code, retry_after, exception, dependency, ..."""

    def as_dict(self) -> dict[str, Any]:
        return {"class": self.failure_class, "reason": self.reason, "message": self.message, **self.evidence}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Failure:
        """A stored failure: what `as_dict` made of it."""
        evidence = {name: value for name, value in body.items() if name not in ("class", "reason", "message")}
        return cls(body["class"], body["reason"], body["message"], evidence)


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """What an attempt used up, where it says so."""

    cost_usd: float | None = None
    tokens: int | None = None


class Outcome(Struct, frozen=True, omit_defaults=True, gc=False):
    """What an attempt came to."""

    status: OutcomeStatus
    result: Any = None
    facts: Facts | None = None
    """For `failed` and `not_completed`."""
    after: float | None = None
    """Seconds: a handler's `Retry(after=...)` replaces the curve; for `snoozed`, when to run again."""
    usage: Usage | None = None
