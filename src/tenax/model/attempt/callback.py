"""Reads the callback of an async step, which comes from an unknown sender, as the outcome of an attempt.

An empty body is a success. JSON states the outcome in `success` or `status`, and is itself the result if it has neither. A problem
(RFC 9457) is a failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, cast

from pydantic_core import from_json

from tenax.errors import UsageError
from tenax.model.attempt.belief import believed_facts
from tenax.model.attempt.outcome import FAILURE_CLASSES, INFRASTRUCTURE, Facts, FailureClass, Outcome
from tenax.model.attempt.usage import read_usage
from tenax.model.durations import parse_duration, parse_retry_after
from tenax.model.json_text import json_fault
from tenax.model.source.findings import nearest, shorten

JSON = "application/json"
PROBLEM = "application/problem+json"
STATUSES = ("completed", "failed", "budget_exceeded")
FAILURE_KEYS = ("class", "reason", "message", "retry_after")
MESSAGE_LIMIT = 4_000
"""Characters of a message that are kept. Several events repeat it."""
_REASON = re.compile(r"[A-Za-z]\w{0,99}", re.ASCII)
_SAYS_NOTHING = "the callback says that it failed"


class UnreadableCallback(UsageError):
    """The callback cannot be read. It changes nothing, and the callee may send another one."""


class UnsupportedCallback(UnreadableCallback):
    """The content type of the callback is not supported."""

    http_status = 415


def read_callback(content_type: str | None, body: bytes, retry_after: str | None, now: datetime) -> Outcome:
    """Returns the outcome that the callee states. `retry_after` is the header of that name."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if not body and kind != PROBLEM:
        return Outcome("succeeded")
    if kind not in (JSON, PROBLEM):
        raise UnsupportedCallback(
            f"the callback is {shorten(kind) if kind else 'of no type'}, neither {JSON} nor {PROBLEM}",
            remedy=f"send Content-Type: {JSON}, or no body at all for a success without a result",
        )
    said = _parse(body)
    hint = None if retry_after is None else parse_retry_after(retry_after, now)
    outcome = _of_problem(said, hint) if kind == PROBLEM else _of_json(said, hint)
    if (fault := json_fault(outcome.result)) is not None:
        raise UnreadableCallback(f"the result in the callback cannot be stored: {fault}")
    return outcome


def _parse(body: bytes) -> Any:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise UnreadableCallback(
            f"the callback's body is not JSON: {error}", remedy="send valid JSON in UTF-8"
        ) from None


def _of_json(said: Any, hint: float | None) -> Outcome:
    if not isinstance(said, dict) or not ("success" in said or "status" in said):
        return Outcome("succeeded", result=said)
    usage = read_usage(said.get("usage"))
    match _status(said):
        case "completed":
            return Outcome("succeeded", result=_result(said), usage=usage)
        case "budget_exceeded":
            facts = Facts(message=_message(said), failure_class="budget", data=_result(said))
        case _:
            facts = _failed(said, hint)
    return Outcome("failed", facts=facts, usage=usage)


def _status(said: Mapping[str, Any]) -> str:
    """Returns the status from `success` and `status`. A failure wins if the two contradict each other."""
    success, status = said.get("success"), said.get("status")
    if success is not None and not isinstance(success, bool):
        raise UnreadableCallback(
            f"success: {_shown(success)} is neither true nor false",
            remedy='if the word is part of the result, write {"success": true, "result": ...}',
        )
    if status is not None and status not in STATUSES:
        raise UnreadableCallback(
            f"status: {_shown(status)} is none of {', '.join(STATUSES)}{_meant(status, STATUSES)}",
            remedy='if the word is part of the result, write {"success": true, "result": ...}',
        )
    if success is None and status is None:
        raise UnreadableCallback(
            "the callback says neither whether it is a success nor a status: both are null",
            remedy='write {"success": true} or {"success": false}',
        )
    if success is False:
        return "failed"
    return status or "completed"


def _result(said: Mapping[str, Any]) -> Any:
    """Returns the result. Result files call it `output`."""
    return said.get("result", said.get("output"))


def _failed(said: Mapping[str, Any], hint: float | None) -> Facts:
    named = said.get("failure")
    if named is None:
        return Facts(message=_message(said), fatal=True, retry_after=hint, data=_result(said))
    if not isinstance(named, dict):
        raise UnreadableCallback(
            f"failure: {_shown(named)} is not an object", remedy=f"its keys are {', '.join(FAILURE_KEYS)}"
        )
    for key in named:
        if key not in FAILURE_KEYS:
            raise UnreadableCallback(
                f"failure: unknown key {_shown(key)}{_meant(key, FAILURE_KEYS)}",
                remedy=f"its keys are {', '.join(FAILURE_KEYS)}",
            )
    failure_class, reason = _class(named.get("class")), _reason(named.get("reason"))
    believed = believed_facts(Facts(failure_class=failure_class, reason=reason))
    return Facts(
        message=_text(named.get("message")) or _message(said),
        fatal=believed.failure_class is None,
        failure_class=believed.failure_class,
        reason=believed.reason,
        retry_after=hint if named.get("retry_after") is None else _seconds(named["retry_after"]),
        data=_result(said),
    )


def _class(stated: Any) -> FailureClass | None:
    if stated is None or stated in FAILURE_CLASSES:
        return cast("FailureClass | None", stated)
    believed = [name for name in FAILURE_CLASSES if name not in INFRASTRUCTURE]
    raise UnreadableCallback(
        f"failure.class: {_shown(stated)} is no class of failures{_meant(stated, believed)}",
        remedy=f"the classes are {', '.join(believed)}",
    )


def _reason(stated: Any) -> str | None:
    if stated is None:
        return None
    if not isinstance(stated, str) or not _REASON.fullmatch(stated):
        raise UnreadableCallback(
            f"failure.reason: {_shown(stated)} is no reason",
            remedy="write a short name such as quota_spent: letters, digits and underscores, at most 100",
        )
    return stated


def _seconds(stated: Any) -> float:
    try:
        return parse_duration(stated)
    except ValueError as error:
        raise UnreadableCallback(f"failure.retry_after: {error}") from None


def _message(said: Mapping[str, Any]) -> str:
    return _text(said.get("error")) or _text(said.get("message")) or _SAYS_NOTHING


def _text(stated: Any) -> str | None:
    """Returns a text as it is, the `message` of an object, or any other value as JSON."""
    if isinstance(stated, dict) and isinstance(stated.get("message"), str):
        stated = stated["message"]
    if stated is None or stated in ("", {}):
        return None
    text = stated if isinstance(stated, str) else json.dumps(stated, ensure_ascii=False)
    return text[:MESSAGE_LIMIT]


def _of_problem(said: Any, hint: float | None) -> Outcome:
    """Reads a problem. Without the status of an HTTP error, it counts as a failure that the callee itself states."""
    if not isinstance(said, dict):
        raise UnreadableCallback(
            f"the callback's body is {_shown(said)}, and a problem is an object",
            remedy='write {"status": 503, "detail": "what went wrong"} (RFC 9457)',
        )
    status = said.get("status")
    is_error = isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599
    told_by = next((key for key in ("detail", "title") if _text(said.get(key))), None)
    rest = {key: value for key, value in said.items() if key not in ("status", "usage", told_by)}
    facts = Facts(
        message=_SAYS_NOTHING if told_by is None else _text(said[told_by]),
        status_code=status if is_error else None,
        fatal=not is_error,
        retry_after=hint,
        data=rest or None,
    )
    return Outcome("failed", facts=facts, usage=read_usage(said.get("usage")))


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False))


def _meant(stated: Any, known: Collection[str]) -> str:
    near = nearest(stated, known) if isinstance(stated, str) else None
    return f"; did you mean {near!r}?" if near else ""
