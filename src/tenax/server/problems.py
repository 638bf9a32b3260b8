"""Answers errors of the API as problems (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from starlette.responses import Response

from tenax.errors import TenaxError, Unauthorized, Unreachable, UsageError

MEDIA_TYPE = "application/problem+json"
ERRORS_SHOWN = 20
RETRY_AFTER_SECONDS = 1


class InvalidRequest(UsageError):
    """A body or parameter does not fit the API. Carries all of its errors."""

    http_status = 422

    def __init__(self, what: str, errors: Iterable[Mapping[str, Any]]) -> None:
        self.errors = [{"path": _path(error["loc"]), "message": str(error["msg"])} for error in errors]
        first = self.errors[0]
        where = f"{first['path']}: " if first["path"] else ""
        more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
        super().__init__(f"{what} cannot be accepted: {where}{first['message']}{more}")

    def problem(self) -> dict[str, Any]:
        return {**super().problem(), "errors": self.errors[:ERRORS_SHOWN]}


class UnsupportedBody(UsageError):
    """The content type of a body is not JSON. Browsers send such bodies for any web page without asking the server first."""

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
    """Returns the path of an error, such as `submissions[3].key`, without the kind of parameter that FastAPI puts first."""
    parts = [part for n, part in enumerate(loc) if n or part not in ("body", "query", "path")]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")
