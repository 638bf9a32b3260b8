"""Limits how much of a report by a worker or a callee is kept: of its texts and data, and of a late report."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.json_text import encode, json_fault

MAX_NAME = 200
"""Characters of a reason, a dependency, and the name of an exception."""
MAX_BASES = 50
"""Base classes of an exception that are kept."""
MAX_NUMBER = 2**31 - 1
"""The largest status code, exit code or signal that is believed. No program has a larger one, and JSON may not hold it."""

encode_sorted = msgspec.json.Encoder(order="sorted").encode
"""Encodes a value with sorted keys, so that equal values give equal texts."""


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """Says how much of a report is kept."""

    message: int
    """Characters of the message."""
    evidence: int
    """Characters of each other text, and of the data as JSON."""


def bounded_outcome(outcome: Outcome, limits: ReportLimits) -> Outcome:
    """Returns an outcome that can be stored.

    A success whose result cannot be stored exactly becomes a failure of the class `invalid`. The texts and data of a failure are cut.
    """
    if outcome.result is not None and (fault := json_fault(outcome.result)) is not None:
        message = f"the result cannot be stored: {fault}"
        facts = Facts(failure_class="invalid", reason="invalid_result", message=message)
        return Outcome("failed", facts=facts, usage=outcome.usage, recorded=outcome.recorded)
    if outcome.facts is None or (facts := bounded_facts(outcome.facts, limits)) is outcome.facts:
        return outcome
    return replace(outcome, facts=facts)


def bounded_facts(facts: Facts, limits: ReportLimits) -> Facts:
    """Returns the facts with their texts and data cut. Returns the same facts if nothing is too long."""
    if facts.data is None and facts.child is None and facts.request is None and _are_short(facts, limits):
        return facts
    found = {
        "message": _head(facts.message, limits.message),
        "reason": _name(facts.reason),
        "exception": _name(facts.exception),
        "dependency": _name(facts.dependency),
        "stderr_tail": _tail(facts.stderr_tail, limits.evidence),
        "traceback": _tail(facts.traceback, limits.evidence),
        "data": _data(facts.data, limits.evidence),
        "child": _whole(facts.child, limits.evidence),
        "request": _whole(facts.request, limits.evidence),
        "exception_bases": _bases(facts.exception_bases),
        "status_code": _number(facts.status_code),
        "exit_code": _number(facts.exit_code),
        "signal": _number(facts.signal),
    }
    changed = {name: value for name, value in found.items() if value is not getattr(facts, name)}
    return replace(facts, **changed) if changed else facts


def _are_short(facts: Facts, limits: ReportLimits) -> bool:
    """Returns whether no text can be longer than its limit, and no number larger. This quick check settles nearly every report."""
    names = len(facts.reason or "") + len(facts.exception or "") + len(facts.dependency or "")
    texts = len(facts.stderr_tail or "") + len(facts.traceback or "")
    return (
        len(facts.message or "") <= limits.message
        and names <= MAX_NAME
        and texts <= limits.evidence
        and sum(map(len, facts.exception_bases)) <= MAX_NAME
        and len(facts.exception_bases) <= MAX_BASES
        and -MAX_NUMBER <= (facts.status_code or 0) <= MAX_NUMBER
        and -MAX_NUMBER <= (facts.exit_code or 0) <= MAX_NUMBER
        and -MAX_NUMBER <= (facts.signal or 0) <= MAX_NUMBER
    )


def _number(number: int | None) -> int | None:
    return number if number is None or -MAX_NUMBER <= number <= MAX_NUMBER else None


def _head(text: str | None, limit: int) -> str | None:
    if text is None or len(text) <= limit:
        return text
    return f"{text[:limit]} [{len(text) - limit} characters more were not kept]"


def _tail(text: str | None, limit: int) -> str | None:
    if text is None or len(text) <= limit:
        return text
    return f"[{len(text) - limit} characters before were not kept] {text[-limit:]}"


def _name(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_NAME else text[:MAX_NAME]


def _bases(bases: tuple[str, ...]) -> tuple[str, ...]:
    if len(bases) <= MAX_BASES and all(len(base) <= MAX_NAME for base in bases):
        return bases
    return tuple(base[:MAX_NAME] for base in bases[:MAX_BASES])


def _data(data: Any, limit: int) -> Any:
    """Returns the data, or the beginning of its JSON if that is too long or cannot be stored exactly."""
    if data is None:
        return None
    if json_fault(data) is not None:
        return _head(json.dumps(data, default=str), limit)
    text = encode(data)
    return data if len(text) <= limit else _head(text, limit)


def _whole(value: dict[str, Any] | None, limit: int) -> dict[str, Any] | None:
    """Returns the value, or None if it is too long or cannot be stored exactly."""
    if value is None or json_fault(value) is not None or len(encode(value)) > limit:
        return None
    return value


@dataclass(frozen=True, slots=True)
class ReportContent:
    """Holds the content of a report or callback as events store it: the status, and the result or the failure."""

    body: dict[str, Any]
    digest: str
    """The digest, which identifies a repeated report."""


def digest_of(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def late_data(late: ReportContent, limit: int) -> dict[str, Any]:
    """Returns the data that is recorded of a late report: all of it and its digest, or its beginning if it is too long."""
    said, digest = late.body, {"digest": late.digest}
    text = encode({name: said[name] for name in ("result", "failure") if name in said})
    if len(text) <= limit:
        return {**said, **digest}
    kept = {name: value for name, value in said.items() if name not in ("result", "failure")}
    if failure := said.get("failure"):
        message = _head(failure["message"], limit)
        kept["failure"] = {"class": failure["class"], "reason": failure["reason"], "message": message}
    return {**kept, **digest, "size": len(text), "head": text[:limit]}
