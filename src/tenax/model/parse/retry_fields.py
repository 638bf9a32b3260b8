"""One level's `retry:` value, from a file or from JSON, checked field by field.

Findings carry a key path and no line: whoever read the file knows the lines, and JSON has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args

from tenax.errors import UsageError
from tenax.model.attempt.outcome import FAILURE_CLASSES, NEVER_RETRIED
from tenax.model.attempt.reasons import REASONS, is_known_reason, known_names
from tenax.model.definition.vary import override_text
from tenax.model.durations import parse_duration
from tenax.model.parse.findings import NOT_YET, format_path, nearest, suggest_or_list
from tenax.model.policy import DELAY_FIELDS, Backoff, Patch, Policy

__all__ = ["REASONS", "RETRY_FIELDS", "RULE_FIELDS", "is_known_reason", "parse_retry", "retry_of_settings"]

Path = tuple[str | int, ...]
RetryFinding = tuple[Path, str]

RETRY_FIELDS: tuple[str, ...] = tuple(f.name for f in fields(Policy))
LATER_RETRY_FIELDS: Mapping[str, str] = {
    "attempt_cost": "it is charged against a budget, and a step cannot have one yet"
}
"""Fields of a policy that do nothing in a workflow yet, and why. Stored policies may have them."""
RULE_FIELDS: tuple[str, ...] = ("on", "when", "retry", "max_attempts", *DELAY_FIELDS)
_BACKOFFS: tuple[str, ...] = get_args(Backoff)
_LARGEST_COUNT = 1_000_000_000


class _FieldError(ValueError):
    """A value that cannot be accepted, and where within the field (for lists)."""

    def __init__(self, message: str, *within: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.within = within


def parse_retry(value: Any, path: Path, *, later: bool = False) -> tuple[Patch | None, list[RetryFinding]]:
    """Returns the patch of one level, or None and everything that is wrong with it.

    `later` also accepts the fields that have no effect in a workflow yet.
    """
    if isinstance(value, bool):
        return value, []
    findings: list[RetryFinding] = []
    if isinstance(value, int):
        patch = _parse_fields({"max_attempts": value}, _FIELDS, path, findings, keyed=False)
    elif isinstance(value, Mapping):
        known = {key: one for key, one in value.items() if later or key not in LATER_RETRY_FIELDS}
        findings += [
            ((*path, key), f"`{key}` {NOT_YET}: {LATER_RETRY_FIELDS[key]}")
            for key in value
            if key not in known
        ]
        patch = _parse_fields(known, _FIELDS, path, findings)
        _parse_rules(value, patch, path, findings)
        _parse_vary(value, patch, path, findings)
    else:
        message = (
            f"retry must be true, false, a number of attempts or a mapping of fields, not {_found(value)}"
        )
        if value == "unlimited":
            message += "; write {max_attempts: unlimited}"
        findings.append((path, message))
        return None, findings
    return (None, findings) if findings else (patch, findings)


def retry_of_settings(value: Any, source: str) -> Patch | None:
    """The server's own level, where the setting `retry` gives one. `source` names the setting in a message."""
    if value is None:
        return None
    patch, findings = parse_retry(value, ("retry",))
    if findings:
        raise UsageError(
            f"{source}: {'; '.join(f'{format_path(path)}: {message}' for path, message in findings)}"
        )
    return patch


_Parser = Callable[[Any], Any]


def _parse_fields(
    body: Mapping[Any, Any],
    parsers: Mapping[str, _Parser],
    path: Path,
    findings: list[RetryFinding],
    *,
    keyed: bool = True,
) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key, value in body.items():
        place = (*path, key if isinstance(key, str | int) else str(key)) if keyed else path
        if isinstance(key, str) and key in parsers:
            try:
                patch[key] = parsers[key](value)
            except _FieldError as wrong:
                findings.append(((*place, *wrong.within), wrong.message))
        elif key not in _READ_APART:
            findings.append((place, f"unknown key {key!r}{suggest_or_list(str(key), _suggested(parsers))}"))
    return patch


def _suggested(parsers: Mapping[str, _Parser]) -> tuple[str, ...]:
    return tuple(name for name in (*parsers, *_READ_APART) if name not in LATER_RETRY_FIELDS)


def _parse_rules(
    body: Mapping[Any, Any], patch: dict[str, Any], path: Path, findings: list[RetryFinding]
) -> None:
    """`rules` is read apart from the other fields, for one rule can have several findings."""
    if "rules" not in body:
        return
    rules, place = body["rules"], (*path, "rules")
    if not isinstance(rules, list | tuple):
        findings.append((place, f"rules must be a list of mappings, not {_found(rules)}"))
        return
    patch["rules"] = [_parse_rule(rule, (*place, index), findings) for index, rule in enumerate(rules)]


def _parse_rule(rule: Any, path: Path, findings: list[RetryFinding]) -> dict[str, Any]:
    if not isinstance(rule, Mapping):
        findings.append(
            (path, f"a rule must be a mapping such as {{on: [timeout], retry: false}}, not {_found(rule)}")
        )
        return {}
    known = {key: value for key, value in rule.items() if key not in _READ_APART}
    findings += [((*path, key), f"a rule cannot have {key} of its own") for key in _READ_APART if key in rule]
    parsed = _parse_fields(known, _RULE_PARSERS, path, findings)
    match ("on" in rule, "when" in rule):
        case (False, False):
            findings.append((path, "a rule needs `on` (classes or reasons) or `when` (a condition)"))
        case (True, True):
            findings.append(
                (path, "a rule takes `on` or `when`, not both; test failure.class within the condition")
            )
    if not any(key not in ("on", "when") for key in rule):
        findings.append((path, f"the rule changes nothing; give it any of {', '.join(RULE_FIELDS[2:])}"))
    return parsed


def _parse_vary(
    body: Mapping[Any, Any], patch: dict[str, Any], path: Path, findings: list[RetryFinding]
) -> None:
    """Entries as canonical JSON. Whether their keys are a step's, only who knows the step can say."""
    if "vary" not in body:
        return
    entries, place = body["vary"], (*path, "vary")
    if not isinstance(entries, list | tuple):
        findings.append(
            (place, f"vary must be a list of mappings, one for each attempt, not {_found(entries)}")
        )
        return
    patch["vary"] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
            wanted = "an entry of vary must be a mapping of the step's own keys ({} changes none)"
            findings.append(((*place, index), f"{wanted}, not {_found(entry)}"))
            continue
        try:
            patch["vary"].append(override_text(entry))
        except (TypeError, ValueError, RecursionError):
            findings.append(((*place, index), "an entry of vary must be plain JSON of finite numbers"))


def _max_attempts(value: Any) -> int | None:
    if value == "unlimited":
        return None
    count = _count(value, "max_attempts", "a whole number from 1, or unlimited")
    if count < 1:
        raise _FieldError(
            f"max_attempts counts the first attempt too, so {count} can never run; "
            "write 1 (or retry: false) for one attempt without retries, or unlimited"
        )
    return count


def _rule_attempts(value: Any) -> int:
    if value == "unlimited":
        raise _FieldError("leave max_attempts out of the rule: then only the policy's own limit binds")
    count = _count(value, "max_attempts", "a whole number from 1")
    if count < 1:
        raise _FieldError(
            f"max_attempts {count} can never be reached; write retry: false in the rule for no retry"
        )
    return count


def _count(value: Any, name: str, wanted: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _FieldError(f"{name} must be {wanted}, not {_found(value)}")
    if value > _LARGEST_COUNT:
        raise _FieldError(f"{name} is larger than {_LARGEST_COUNT:,}; write unlimited if that is meant")
    return max(value, -_LARGEST_COUNT)


def _from_zero(name: str) -> _Parser:
    def parse(value: Any) -> int:
        count = _count(value, name, "a whole number from 0")
        if count < 0:
            raise _FieldError(f"{name} cannot be negative; write 0 for none")
        return count

    return parse


def _flag(name: str) -> _Parser:
    def parse(value: Any) -> bool:
        if not isinstance(value, bool):
            raise _FieldError(f"{name} must be true or false, not {_found(value)}")
        return value

    return parse


def _duration(name: str) -> _Parser:
    def parse(value: Any) -> float:
        try:
            return parse_duration(value)
        except ValueError as wrong:
            raise _FieldError(f"{name}: {wrong}") from None

    return parse


def _condition(name: str) -> _Parser:
    def parse(value: Any) -> str:
        if not isinstance(value, str):
            raise _FieldError(f"{name} must be a condition in quotes, not {_found(value)}")
        if not value.strip():
            raise _FieldError(f"{name} is empty; write a condition, or leave the key out")
        return value

    return parse


def _backoff(value: Any) -> str:
    if not isinstance(value, str) or value not in _BACKOFFS:
        hint = (
            suggest_or_list(value, _BACKOFFS)
            if isinstance(value, str)
            else f"; known are {', '.join(_BACKOFFS)}"
        )
        raise _FieldError(f"unknown backoff {_found(value)}{hint}")
    return value


def _multiplier(value: Any) -> float:
    number = _number(value, "backoff_multiplier")
    if number < 1:
        raise _FieldError(f"backoff_multiplier must be at least 1 (delays do not shrink), not {number:g}")
    return number


def _jitter(value: Any) -> float | str:
    if isinstance(value, bool):
        return 0.5 if value else 0.0
    if value in ("full", "equal"):
        return str(value)
    if isinstance(value, str):
        raise _FieldError(
            f"unknown jitter {_found(value)}; write false, true, a factor from 0 to 1, full or equal"
        )
    number = _number(value, "jitter")
    if not 0 <= number <= 1:
        raise _FieldError(f"jitter must be from 0 to 1 (a share of the delay), not {number:g}")
    return number


def _cost(value: Any) -> float:
    number = _number(value, "attempt_cost")
    if number < 0:
        raise _FieldError("attempt_cost cannot be negative")
    return number


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _FieldError(f"{name} must be a number, not {_found(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _FieldError(f"{name} must be a finite number")
    return number


def _names(field: str, *, retried: bool) -> _Parser:
    """A list of classes and reasons; `retried` where naming them would make them be retried."""

    def parse(value: Any) -> list[str]:
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            raise _FieldError(f"{field} must be a list of failure classes or reasons, not {_found(value)}")
        if field == "on" and not listed:
            raise _FieldError("`on` is empty, so the rule can never match")
        return [name(item, *(() if isinstance(value, str) else (i,))) for i, item in enumerate(listed)]

    def name(item: Any, *within: int) -> str:
        if not isinstance(item, str):
            raise _FieldError(
                f"{field} takes names of failure classes or reasons, not {_found(item)}", *within
            )
        if retried and item in NEVER_RETRIED:
            raise _FieldError(
                f"`{item}` is never retried by itself, so it cannot stand in {field}; remove it", *within
            )
        if item not in FAILURE_CLASSES and not is_known_reason(item):
            raise _FieldError(
                f"unknown failure class or reason {_found(item)}{_nearest_reason(item)}", *within
            )
        return item

    return parse


def _nearest_reason(name: str) -> str:
    meant = nearest(name, known_names())
    if meant is not None:
        return f"; did you mean `{meant}`?"
    patterns = "http_503, exit_code_7, signal_9, exception_OSError"
    return f"; classes are {', '.join(FAILURE_CLASSES)}; reasons are such as connection_refused, {patterns}"


def _found(value: Any) -> str:
    """What was found in the place, in words a writer of YAML knows."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number" if isinstance(value, int) and abs(value) > 10**20 else f"the number {value}"
        case str():
            return f"the text {value!r}" if len(value) <= 40 else f"the text {value[:40]!r}..."
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return f"a value of type {type(value).__name__}"


_DELAY_PARSERS: dict[str, _Parser] = {
    "backoff": _backoff,
    "initial_delay": _duration("initial_delay"),
    "backoff_multiplier": _multiplier,
    "max_delay": _duration("max_delay"),
    "jitter": _jitter,
    "honor_retry_after": _flag("honor_retry_after"),
    "max_retry_after": _duration("max_retry_after"),
}

_READ_APART = ("rules", "vary")

_FIELDS: dict[str, _Parser] = {
    "max_attempts": _max_attempts,
    "retryable": _flag("retryable"),
    **_DELAY_PARSERS,
    "retry_when": _condition("retry_when"),
    "stop_when": _condition("stop_when"),
    "retry_on": _names("retry_on", retried=True),
    "never_on": _names("never_on", retried=False),
    "infra_attempts": _from_zero("infra_attempts"),
    "give_up_after": _duration("give_up_after"),
    "attempt_cost": _cost,
    "max_snoozes": _from_zero("max_snoozes"),
}

_RULE_PARSERS: dict[str, _Parser] = {
    "on": _names("on", retried=False),
    "when": _condition("when"),
    "retry": _flag("retry"),
    "max_attempts": _rule_attempts,
    **_DELAY_PARSERS,
}
