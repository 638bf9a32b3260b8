"""Turns the exceptions of handlers into outcomes with typed facts. The server classifies them."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from types import TracebackType
from typing import Any, NamedTuple

import orjson
from msgspec.structs import replace

from tenax.codec.encode import encode
from tenax.errors import InvalidValue
from tenax.model.attempt.exceptions import PERMISSION_ERROR, PROGRAMMING_ERRORS, VALIDATION_ERROR
from tenax.model.attempt.outcome import Connection, Facts, FailureClass, Outcome
from tenax.model.durations import parse_retry_after
from tenax.sdk.causes import chain, kind_of_causes
from tenax.sdk.outcomes import Fatal, NotCompleted, Retry, Snooze
from tenax.worker.handlers.json_values import storable_text
from tenax.worker.handlers.tracebacks import format_error

MESSAGE_LIMIT = 4_000  # characters of a failure's message that are reported
TRACEBACK_LIMIT = 8_000  # characters of a traceback that are reported, from its end
STDERR_LIMIT = 4_096  # characters of stderr that are reported, from its end
FILE_LIMIT = 64_000
"""Characters of a result file that are kept as evidence with a failed attempt."""
TRACEBACK_FRAMES = 30  # frames of a traceback that are reported, the innermost ones
_OWN_CODE = "tenax.worker"
_MAX_CAUSES = 12
"""The number of causes of an error that are examined. For example, a refused connection is the third cause of an error of requests."""
_NETWORK_ERRNOS = frozenset(
    {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ETIMEDOUT}
)
"""Numbers of network errors for which Python has no exception type."""
_CONNECTION_TYPES = (ConnectionError, socket.gaierror, ssl.SSLError)
_HTTP_CLIENTS = ("httpx2", "httpx", "httpcore2", "httpcore")


class _ErrorType(NamedTuple):
    """Describes an error by its type alone."""

    type: type
    name: str
    bases: tuple[str, ...]
    is_explicit: bool
    """True for `Retry`, programming errors, refused permissions and validation errors. Their causes are not examined."""
    of_connection: bool
    of_httpx: bool


_MAX_KINDS = 500
_error_types: dict[int, _ErrorType] = {}
"""Descriptions by the id of the type, which is kept with it. A user's metaclass may define equality in any way."""


def outcome_of(error: BaseException) -> Outcome:
    """Returns the outcome of an attempt whose handler raised `error`."""
    try:
        return _outcome_of(error)
    except Exception as broken:  # noqa: BLE001 - the attributes of a user's exception may raise anything
        message = f"{type(error).__name__}: (its details cannot be read: {type(broken).__name__})"
        kind = _type_of(error)
        return Outcome(
            "failed", facts=Facts(message=message, exception=kind.name, exception_bases=kind.bases)
        )


def _outcome_of(error: BaseException) -> Outcome:
    match error:
        case Snooze():
            return Outcome("snoozed", after=error.after)
        case NotCompleted():
            return Outcome("not_completed", facts=Facts(message=_text(error), data=_data(error.data)))
        case Fatal():
            return Outcome("failed", facts=Facts(message=_text(error), fatal=True, data=_data(error.data)))
        case Retry():
            return Outcome("failed", facts=_facts(error, _text(error)), after=error.after)
        case _:
            return Outcome(
                "failed", facts=_facts(error, f"{type(error).__name__}: {_text(error)}".rstrip(": "))
            )


def cut_to_limits(outcome: Outcome) -> Outcome:
    """Cuts the texts of an outcome to the reported lengths. Scrub secrets before: half of a secret is not recognised."""
    facts = outcome.facts
    if facts is None:
        return outcome
    if facts.result_file == "other":
        facts = replace(facts, data=_file_within_limit(facts.data))
        outcome = replace(outcome, facts=facts)
    if not (
        _is_longer(facts.message, MESSAGE_LIMIT)
        or _is_longer(facts.traceback, TRACEBACK_LIMIT)
        or _is_longer(facts.stderr_tail, STDERR_LIMIT)
    ):
        return outcome
    cut = replace(
        facts,
        message=facts.message and facts.message[:MESSAGE_LIMIT],
        traceback=facts.traceback and facts.traceback[-TRACEBACK_LIMIT:],
        stderr_tail=facts.stderr_tail and facts.stderr_tail[-STDERR_LIMIT:],
    )
    return replace(outcome, facts=cut)


def _file_within_limit(content: Any) -> Any:
    """Returns the content of a result file, or the beginning of its text if it is too long."""
    text = orjson.dumps(content).decode()
    if len(text) <= FILE_LIMIT:
        return content
    return f"{text[:FILE_LIMIT]} [{len(text) - FILE_LIMIT} characters more were not kept]"


def _is_longer(text: str | None, limit: int) -> bool:
    return text is not None and len(text) > limit


def timeout_failure(seconds: float, **more: Any) -> Outcome:
    return Outcome("failed", facts=Facts(message=f"timed out after {seconds:g} s", timed_out=True, **more))


def classified_failure(failure_class: FailureClass, reason: str, message: str, **more: Any) -> Outcome:
    """Returns a failure whose class the worker knows for certain, for example for invalid parameters or results."""
    facts = Facts(message=message, failure_class=failure_class, reason=reason, **more)
    return Outcome("failed", facts=facts)


def qualified_name(kind: type) -> str:
    return storable_text(f"{kind.__module__}.{kind.__qualname__}")


def retry_after_of(headers: Mapping[str, str] | Message, *, now: datetime) -> float | None:
    """Returns the `Retry-After` of an answer in seconds, or None.

    A date is compared with the answer's own `Date`, so the two clocks need not agree.
    """
    hint = headers.get("retry-after") or headers.get("Retry-After")
    if hint is None:
        return None
    stated = headers.get("date") or headers.get("Date")
    return parse_retry_after(hint, _http_date(stated) or now)


def _http_date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _facts(error: BaseException, message: str) -> Facts:
    kind = _type_of(error)
    status_code, retry_after, dependency = _http_answer(error, kind)
    return Facts(
        message=message,
        status_code=status_code,
        retry_after=retry_after,
        dependency=dependency,
        connection=None if status_code is not None else _connection(error, kind),
        traceback=_traceback(error),
        exception=kind.name,
        exception_bases=kind.bases,
    )


def _type_of(error: BaseException) -> _ErrorType:
    kind = type(error)
    known = _error_types.get(id(kind))
    if known is None:
        if len(_error_types) >= _MAX_KINDS:
            _error_types.clear()
        known = _error_types[id(kind)] = _describe_type(kind)
    return known


def _describe_type(kind: type[BaseException]) -> _ErrorType:
    name, *bases = (qualified_name(base) for base in kind.__mro__[:-1])
    is_explicit = (
        issubclass(kind, Retry)
        or name in PROGRAMMING_ERRORS
        or PERMISSION_ERROR in (name, *bases)
        or any(one.endswith(VALIDATION_ERROR) for one in (name, *bases))
    )
    of_client = _package(kind) in _HTTP_CLIENTS and any(
        base.__name__ == "TransportError" for base in kind.__mro__
    )
    of_connection = of_client or issubclass(kind, _CONNECTION_TYPES)
    of_httpx = any(_package(base) == "httpx2" for base in kind.__mro__)
    return _ErrorType(kind, name, tuple(bases), is_explicit, of_connection, of_httpx)


def _package(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _http_answer(error: BaseException, kind: _ErrorType) -> tuple[int | None, float | None, str | None]:
    """Returns status code, `Retry-After` and host of the HTTP answer that an exception carries.

    Exceptions of httpx and requests have the answer as an attribute. Those of urllib and aiohttp are the answer themselves.
    """
    answer = getattr(error, "response", None)
    status_code = None if answer is None else getattr(answer, "status_code", None)
    if not isinstance(status_code, int) or isinstance(status_code, bool):
        answer, status_code = error, _own_status(error, kind)
    if status_code is None:
        return None, None, None
    headers = getattr(answer, "headers", None)
    # The headers of requests ignore the case of names. A plain copy of them would not.
    hint = retry_after_of(headers, now=datetime.now(UTC)) if isinstance(headers, Mapping | Message) else None
    asked = getattr(answer, "request_info", answer)
    return status_code, hint, _host(getattr(asked, "url", None))


def _own_status(error: BaseException, kind: _ErrorType) -> int | None:
    """Returns the `status` or `code` of an exception that is an HTTP answer itself, as in urllib and aiohttp. It has headers then."""
    if not isinstance(error, Exception) or kind.is_explicit or not hasattr(error, "headers"):
        return None
    for name in ("status", "code"):
        number = getattr(error, name, None)
        theirs = isinstance(number, bool) or (isinstance(number, Enum) and not isinstance(number, HTTPStatus))
        if isinstance(number, int) and not theirs and 100 <= number <= 599:
            return int(number)
    return None


def _host(url: object) -> str | None:
    from urllib.parse import urlsplit

    try:
        return (
            storable_text(urlsplit(str(url)).netloc.rpartition("@")[2]) or None if url is not None else None
        )
    except ValueError:
        return None


def _connection(error: BaseException, kind: _ErrorType) -> Connection | None:
    """Returns how a connection failed. Returns None unless the error or one of its causes is a connection error."""
    if _is_of_connection(error, kind):
        return _connection_kind(error, kind)
    for cause in _causes(error, kind):
        of_cause = _type_of(cause)
        if _is_of_connection(cause, of_cause):
            return _connection_kind(cause, of_cause)
        if isinstance(cause, TimeoutError) and isinstance(error, OSError):
            return "timeout"  # the errors of urllib and requests are subclasses of OSError
    return None


def _is_of_connection(error: BaseException, kind: _ErrorType) -> bool:
    return kind.of_connection or (isinstance(error, OSError) and error.errno in _NETWORK_ERRNOS)


def _connection_kind(error: BaseException, kind: _ErrorType) -> Connection:
    if not kind.of_httpx:
        return kind_of_causes(chain(error)) or "other"
    from tenax.sdk.connections import connection_kind  # imports httpx, so only if the user's code uses it

    return connection_kind(error)


def _causes(error: BaseException, kind: _ErrorType) -> Iterator[BaseException]:
    """Yields the causes of an error, the nearest first."""
    seen, waiting = {id(error)}, _direct_causes(error, kind)
    while waiting and len(seen) < _MAX_CAUSES:
        current = waiting.pop(0)
        if isinstance(current, BaseException) and id(current) not in seen:
            seen.add(id(current))
            yield current
            waiting += _direct_causes(current, _type_of(current))


def _direct_causes(error: BaseException, kind: _ErrorType) -> list[object]:
    """Returns the direct causes of an error. An explicit error has none."""
    if kind.is_explicit:
        return []
    context = None if error.__suppress_context__ else error.__context__
    # urllib and urllib3 keep the cause in `reason`, and requests keeps it in its first argument.
    return [error.__cause__, context, getattr(error, "reason", None), *error.args[:1]]


def _text(error: BaseException) -> str:
    try:
        return storable_text(str(error))
    except Exception as broken:  # noqa: BLE001 - a user's __str__ may raise anything, and the report must be sent all the same
        return f"(its text cannot be read: {type(broken).__name__})"


def _data(data: Any) -> Any:
    try:
        return encode(data, lenient=True)
    except InvalidValue:
        return repr(data)


def _traceback(error: BaseException) -> str:
    """Returns the end of the traceback, without the worker's own frames at its beginning."""
    return storable_text(format_error(error, _user_frames(error.__traceback__), frames=TRACEBACK_FRAMES))


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    first = trace
    while first is not None and str(first.tb_frame.f_globals.get("__name__", "")).startswith(_OWN_CODE):
        first = first.tb_next
    return first
