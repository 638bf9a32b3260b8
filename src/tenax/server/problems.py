"""Every error of the API is a problem (RFC 9457), in words for the person who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError
from starlette.responses import Response

from tenax.errors import TenaxError, Unauthorized, Unreachable, UsageError

MEDIA_TYPE = "application/problem+json"
ERRORS_SHOWN = 20
MAX_ERRORS = 10_000
"""Errors of one body beyond which they are only counted."""
RETRY_AFTER_SECONDS = 1


class InvalidRequest(UsageError):
    """A body or parameter that is not what the API asks for. Carries everything that is wrong with it."""

    http_status = 422

    def __init__(self, what: str, errors: Iterable[Mapping[str, Any]]) -> None:
        self.errors = [{"path": _path(error["loc"]), "message": str(error["msg"])} for error in errors]
        first = self.errors[0]
        where = f"{first['path']}: " if first["path"] else ""
        more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
        super().__init__(f"{what} cannot be accepted: {where}{first['message']}{more}")

    @classmethod
    def of_body(cls, error: ValidationError, what: str = "the body") -> InvalidRequest:
        if (count := error.error_count()) > MAX_ERRORS:  # to list them all would take seconds and gigabytes
            return cls(what, [{"loc": (), "msg": f"{count:,} things are wrong with it"}])
        return cls(what, error.errors(include_url=False, include_input=False, include_context=False))

    def problem(self) -> dict[str, Any]:
        return {**super().problem(), "errors": self.errors[:ERRORS_SHOWN]}


class UnsupportedBody(UsageError):
    """A body that does not call itself JSON. Browsers send such bodies on behalf of any page without asking first."""

    http_status = 415


class MethodNotAllowed(UsageError):
    http_status = 405


def answer_problem(error: TenaxError, headers: Mapping[str, str] | None = None) -> Response:
    extra = dict(headers or {})
    if isinstance(error, Unauthorized):
        extra["www-authenticate"] = "Bearer"
    if isinstance(error, Unreachable):
        extra["retry-after"] = str(RETRY_AFTER_SECONDS)
    return Response(orjson.dumps(error.problem()), error.http_status, headers=extra, media_type=MEDIA_TYPE)


def _path(loc: Iterable[str | int]) -> str:
    """`submissions[3].key`; the parameter's kind that FastAPI puts first says nothing to the reader."""
    parts = [part for n, part in enumerate(loc) if n or part not in ("body", "query", "path")]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")
