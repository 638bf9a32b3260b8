"""Turns error answers of the server back into the errors from which they were made (RFC 9457, `type: tenax:<code>`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tenax.errors import (
    Conflict,
    Finding,
    Forbidden,
    InvalidDefinition,
    NotFound,
    TenaxError,
    TooLarge,
    Unauthorized,
    Unreachable,
    UsageError,
)
from tenax.model.attempt.outcome import Connection
from tenax.sdk.causes import connection_words
from tenax.sdk.exchange import Answer

_BY_STATUS: dict[int, type[TenaxError]] = {
    400: UsageError,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: UsageError,
}


def check_answer(response: Answer) -> Answer:
    """Returns the answer if it is a success, else raises its error."""
    if response.is_success:
        return response
    raise error_of_answer(response)


def error_of_answer(response: Answer) -> TenaxError:
    problem = _problem(response)
    code = str(problem.get("type", "")).removeprefix("tenax:")
    remedy = problem.get("remedy")
    kind = next((k for k in _tree(TenaxError) if k.code == code), None)
    if kind is InvalidDefinition:
        return InvalidDefinition(
            [Finding.from_dict(e) for e in problem.get("errors") or [{"message": problem["title"]}]]
        )
    if kind is not None and "title" in problem:
        return kind(str(problem["title"]), remedy=remedy)
    return _unknown(response)


def unreachable(server_url: str, kind: Connection) -> Unreachable:
    return Unreachable(
        f"cannot reach the server at {server_url}: {connection_words(kind)}",
        remedy="is it running, and is the address right? (--server or TENAX_SERVER)",
    )


def _unknown(response: Answer) -> TenaxError:
    """Returns the error for an answer that is not from Tenax: from a proxy, a crash, or another service at that address."""
    where = f"{response.method} {response.url}"
    message = f"{where} answered {response.status_code} {response.reason}".rstrip()
    if response.status_code in _BY_STATUS:
        return _BY_STATUS[response.status_code](message)
    if response.status_code >= 500 or response.status_code in (408, 425, 429):
        return Unreachable(message, remedy="look at the server's log")
    return TenaxError(message, remedy="is there a Tenax server at that address?")


def _problem(response: Answer) -> Mapping[str, Any]:
    try:
        body = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def _tree(kind: type[TenaxError]) -> Iterator[type[TenaxError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)
