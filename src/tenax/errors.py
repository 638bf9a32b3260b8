"""Defines the errors of Tenax. Each has an HTTP status, and an exit code for commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class TenaxError(Exception):
    """Is an error that Tenax itself reports, with a message for people."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def problem(self) -> dict[str, Any]:
        """Returns the error as the body of an HTTP answer (RFC 9457)."""
        body: dict[str, Any] = {
            "type": f"tenax:{self.code}",
            "title": self.message,
            "status": self.http_status,
        }
        if self.remedy:
            body["remedy"] = self.remedy
        return body


class UsageError(TenaxError):
    """A flag, an argument or a request is wrong."""

    code = "usage"
    http_status = 400
    exit_code = 2


class InvalidDefinition(TenaxError):
    """A workflow file or a policy is invalid. Carries all of its findings."""

    code = "invalid_definition"
    http_status = 422
    exit_code = 2

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def problem(self) -> dict[str, Any]:
        count = len(self.findings)
        title = f"the definition has {count} error{'s' if count != 1 else ''}"
        return {**super().problem(), "title": title, "errors": [f.as_dict() for f in self.findings]}


class Finding:
    """Describes one error at one place of a definition."""

    __slots__ = ("column", "file", "line", "message", "path")

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message = message
        self.path = path
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.path, self.message) if part)

    def __repr__(self) -> str:
        return f"Finding({str(self)!r})"

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("file", "line", "column", "path", "message")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        place = {name: data.get(name) for name in ("file", "line", "column")}
        return cls(str(data.get("message", "")), path=str(data.get("path") or ""), **place)


class InvalidInput(TenaxError):
    """The inputs of an execution do not fit those that its workflow declares."""

    code = "invalid_input"
    http_status = 422
    exit_code = 2


class InvalidValue(TenaxError):
    """An argument or a result does not fit its annotation, or has no JSON form."""

    code = "invalid_value"
    http_status = 422
    exit_code = 2


class TaskFailed(TenaxError):
    """An execution whose result was asked for has failed or was cancelled."""

    code = "task_failed"
    http_status = 409

    def __init__(
        self,
        message: str,
        *,
        remedy: str | None = None,
        execution_id: int = 0,
        failure_class: str = "",
        reason: str = "",
        attempts: int = 0,
        explanation: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.execution_id = execution_id
        self.failure_class = failure_class
        """The class of the failure, such as `transient`, or `cancelled`."""
        self.reason = reason
        """The reason of the failure, such as `http_503`."""
        self.attempts = attempts
        """The counted attempts of the step that failed."""
        self.explanation = explanation
        """The explanation of the last decision, as `tenax explain` prints it."""


class NotFound(TenaxError):
    """There is no such execution, step, attempt, workflow or token."""

    code = "not_found"
    http_status = 404
    exit_code = 2


class Conflict(TenaxError):
    """The state of the object does not allow the request."""

    code = "conflict"
    http_status = 409
    exit_code = 2


class Unauthorized(TenaxError):
    """The request has no token, or its token is unknown or revoked."""

    code = "unauthorized"
    http_status = 401
    exit_code = 3


class Forbidden(TenaxError):
    """The token's role does not allow this."""

    code = "forbidden"
    http_status = 403
    exit_code = 3


class TooLarge(TenaxError):
    """A body, a file or a batch is larger than its limit."""

    code = "too_large"
    http_status = 413
    exit_code = 2


class Unreachable(TenaxError):
    """A server, a database or a folder cannot be reached."""

    code = "unreachable"
    http_status = 503
    exit_code = 3


class DatabaseAway(Unreachable):
    """PostgreSQL is not available now: it is down, is starting, is full, or the connection broke. Nothing was written."""

    code = "database_away"


class Busy(Unreachable):
    """Other requests held a resource for too long. Nothing was written, and another try at once may succeed."""

    code = "busy"


class SchemaOutdated(Unreachable):
    """The database's schema does not fit this version of Tenax."""

    code = "schema_outdated"
