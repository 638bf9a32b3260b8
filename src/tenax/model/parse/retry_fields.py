"""Declares the fields of a retry policy, and reads a `retry:` value. The reader of a file adds lines to the findings."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, get_args

from tenax.errors import UsageError
from tenax.model.attempt.outcome import FAILURE_CLASSES, NEVER_RETRIED
from tenax.model.attempt.reasons import REASONS, is_known_reason, known_names
from tenax.model.definition.vary import override_text
from tenax.model.durations import parse_duration
from tenax.model.parse.field_types import DURATION_PATTERN, FLAG, TEXT_SCHEMA, is_number, is_whole
from tenax.model.parse.shape import (
    DeferredReader,
    JsonSchema,
    KeysRule,
    Mismatch,
    Shape,
    ShortForms,
    ValueReader,
    any_of,
    declare,
    faults,
    read_shape,
)
from tenax.model.policy import Backoff, Patch, Policy
from tenax.model.source.findings import Path, format_path, found_in_words, nearest, suggest_or_list

__all__ = ["REASONS", "RETRY_FIELDS", "RULE_FIELDS", "is_known_reason", "parse_retry", "retry_of_settings"]

RetryFinding = tuple[Path, str]

_ORDER = ("on", "when", "retry", *(field.name for field in fields(Policy)))
_BACKOFFS: tuple[str, ...] = get_args(Backoff)
_REASON = (
    r"^(http_[1-9][0-9]{2}|exit_code_[0-9]{1,10}|signal_[0-9]{1,3}|exception_[A-Za-z_][A-Za-z0-9_.]{0,199})$"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_COUNT = 1_000_000_000
_LARGEST_NUMBER = sys.float_info.max


def _count(least: int, too_small: str, *, unlimited: bool = False, why_limited: str = "") -> ValueReader:
    """Makes a type for a whole number, or None for `unlimited`. `why_limited` explains an error where `unlimited` is refused."""
    wanted = f"a whole number from {least} to {_LARGEST_COUNT:,}" + (", or unlimited" if unlimited else "")
    schema: JsonSchema = {"type": "integer", "minimum": least, "maximum": _LARGEST_COUNT}

    def read(value: Any) -> int | None:
        if value == "unlimited" and unlimited:
            return None
        if value == "unlimited" and why_limited:
            raise ValueError(why_limited)
        if not is_whole(value) or value > _LARGEST_COUNT:
            raise Mismatch(wanted)
        if value < least:
            raise ValueError(too_small.format(max(value, -_LARGEST_COUNT)))
        return int(value)

    return ValueReader(read, {"anyOf": [schema, {"const": "unlimited"}]} if unlimited else schema)


def _condition(value: Any) -> str:
    if not isinstance(value, str):
        raise Mismatch("a condition in quotes")
    if not value.strip():
        raise ValueError("it is empty; write a condition, or leave the key out")
    return value


def _backoff(value: Any) -> str:
    if not isinstance(value, str) or value not in _BACKOFFS:
        hint = suggest_or_list(value if isinstance(value, str) else "", _BACKOFFS)
        raise ValueError(f"unknown backoff `{str(value)[:40]}`{hint}")
    return value


def _jitter(value: Any) -> float | str:
    if isinstance(value, bool):
        return 0.5 if value else 0.0
    if value in ("full", "equal"):
        return str(value)
    if isinstance(value, str):
        raise ValueError(
            f"unknown jitter {found_in_words(value)}; write false, true, a factor from 0 to 1, full or equal"
        )
    return _in_range(value, 0, 1, "jitter must be from 0 to 1 (a share of the delay), not {:g}")


def _in_range(value: Any, least: float, most: float, message: str) -> float:
    if not is_number(value):
        raise Mismatch("a number")
    if not -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER:  # also refuses NaN
        raise Mismatch("a finite number")
    if not least <= value <= most:
        raise ValueError(message.format(float(value)))
    return float(value)


def _number(least: float, message: str) -> ValueReader:
    return ValueReader(
        lambda value: _in_range(value, least, _LARGEST_NUMBER, message), {"type": "number", "minimum": least}
    )


def _name(item: Any, *, retried: bool) -> str:
    """Returns a class or a reason. With `retried`, refuses names that are never retried."""
    if not isinstance(item, str):
        raise ValueError(f"this takes names of failure classes or reasons, not {found_in_words(item)}")
    if retried and item in NEVER_RETRIED:
        raise ValueError(f"`{item}` is never retried by itself, so it cannot stand here; remove it")
    if item not in FAILURE_CLASSES and not is_known_reason(item):
        raise ValueError(f"unknown failure class or reason {found_in_words(item)}{_nearest_reason(item)}")
    return item


def _names(*, retried: bool = False, least: int = 0) -> ValueReader:
    known = [name for name in known_names() if not retried or name not in NEVER_RETRIED]
    item: JsonSchema = {"anyOf": [{"enum": known}, {"type": "string", "pattern": _REASON}]}

    def read(value: Any) -> list[str]:
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            raise Mismatch("a list of failure classes or reasons")
        if len(listed) < least:
            raise ValueError("`on` is empty, so the rule can never match")
        names: list[str] = []
        wrong: list[tuple[Path, ValueError, Any]] = []
        for index, one in enumerate(listed):
            try:
                names.append(_name(one, retried=retried))
            except ValueError as error:
                wrong.append(((index,), error, one))
        if wrong:
            raise faults(wrong)
        return names

    return ValueReader(read, {"anyOf": [*item["anyOf"], {"type": "array", "items": item, "minItems": least}]})


def _nearest_reason(name: str) -> str:
    meant = nearest(name, known_names())
    if meant is not None:
        return f"; did you mean `{meant}`?"
    patterns = "http_503, exit_code_7, signal_9, exception_OSError"
    return f"; classes are {', '.join(FAILURE_CLASSES)}; reasons are such as connection_refused, {patterns}"


def _entry(value: Any) -> str:
    """Returns an entry of `vary` as canonical JSON. The keys are checked later, when the type of the step is known."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        wanted = "an entry of vary must be a mapping of the step's own keys ({} changes none)"
        raise ValueError(f"{wanted}, not {found_in_words(value)}")
    try:
        return override_text(value)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("an entry of vary must be plain JSON of finite numbers") from None


def _listed(wanted: str) -> ShortForms:
    def expand(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise Mismatch(wanted)
        return list(value)

    return ShortForms(expand)


def _rule(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(
            f"a rule must be a mapping such as {{on: [timeout], retry: false}}, not {found_in_words(value)}"
        )
    return value


_CONDITION = ValueReader(_condition, TEXT_SCHEMA)
_FROM_ZERO = _count(0, "it cannot be negative; write 0 for none")
_MAX_ATTEMPTS = _count(
    1,
    "max_attempts counts the first attempt too, so {} can never run; "
    "write 1 (or retry: false) for one attempt without retries, or unlimited",
    unlimited=True,
)
_RULE_ATTEMPTS = _count(
    1,
    "max_attempts {} can never be reached; write retry: false in the rule for no retry",
    why_limited="leave max_attempts out of the rule: then only the policy's own limit binds",
)
_DURATION = ValueReader(
    parse_duration,
    {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": DURATION_PATTERN}]},
)
_JITTER: JsonSchema = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"enum": ["full", "equal"]},
    ]
}


class DelayFields(Shape):
    """Declares the fields that a policy and each of its rules may have. The defaults are those of `Policy`."""

    backoff: Any = declare(
        f"the curve: {', '.join(f'`{name}`' for name in _BACKOFFS)}",
        ValueReader(_backoff, {"enum": list(_BACKOFFS)}),
    )
    initial_delay: Any = declare("the delay before the second attempt", _DURATION)
    backoff_multiplier: Any = declare(
        "growth of `exponential`; at least 1",
        _number(1, "backoff_multiplier must be at least 1 (delays do not shrink), not {:g}"),
    )
    max_delay: Any = declare(
        "the cap of the curve, also after jitter. If it is not set, and `initial_delay` is longer, `initial_delay` is the cap",
        _DURATION,
    )
    jitter: Any = declare(
        "the random part of the delay: `false` or 0 for none, a factor from 0 to 1, `full`, `equal`, or `true` for 0.5. See [jitter](#jitter)",
        ValueReader(_jitter, _JITTER),
    )
    honor_retry_after: Any = declare(
        "the next attempt starts no earlier than the callee's `Retry-After` asks", FLAG
    )
    max_retry_after: Any = declare(
        "the longest `Retry-After` that is honoured, and the longest delay that a handler may ask for by `Retry(after=...)`",
        _DURATION,
    )

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        known = [name for name in _ORDER if name in cls.model_fields]
        return f"unknown key {key!r}{suggest_or_list(str(key), known)}"


class RuleFields(DelayFields):
    """Declares a rule, which replaces fields of the policy for certain failures."""

    together: ClassVar[tuple[KeysRule, ...]] = (
        any_of("on", "when", "a rule needs `on` (classes or reasons) or `when` (a condition)"),
        KeysRule(
            lambda data: "on" in data and "when" in data,
            "a rule takes `on` or `when`, not both; test failure.class within the condition",
            {"not": {"required": ["on", "when"]}},
        ),
        KeysRule(
            lambda data: not any(key not in ("on", "when") for key in data),
            f"the rule changes nothing; give it any of retry, max_attempts, {', '.join(DelayFields.key_names())}",
            {"minProperties": 2},
        ),
    )

    on: Any = declare("the classes or reasons that it is for", _names(least=1))
    when: Any = declare("the condition by which it is chosen", _CONDITION)
    retry: Any = declare("whether there is a retry at all", FLAG)
    max_attempts: Any = declare("counts only the attempts that ended in this rule", _RULE_ATTEMPTS)

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        return (
            f"a rule cannot have {key} of its own"
            if key in ("rules", "vary")
            else super().unknown_key_message(key)
        )


class RetryFields(DelayFields):
    """Declares the fields of a policy that a file may give."""

    max_attempts: Any = declare(
        "the **total** of counted attempts, the first included. `unlimited` is allowed, 0 is refused. If no level gives a policy, it is 1",
        _MAX_ATTEMPTS,
    )
    retryable: Any = declare(
        "`false` means that only the first attempt runs, whatever `max_attempts` says", FLAG
    )
    retry_when: Any = declare(
        "a [condition](conditions.md) that decides instead of the failure's class", _CONDITION
    )
    stop_when: Any = declare("a condition. If it is true, there is no retry", _CONDITION)
    retry_on: Any = declare(
        "classes or reasons that are retried besides the defaults; `budget` and `cancelled` are refused here",
        _names(retried=True),
    )
    never_on: Any = declare(
        "classes or reasons that are not retried. `never_on` beats `retry_on`, and a reason beats a class",
        _names(),
    )
    rules: list[Annotated[RuleFields, ShortForms(_rule)]] = declare(
        "another policy for certain failures. See [rules](#rules)", _listed("a list of mappings")
    )
    infra_attempts: Any = declare(
        "the number of attempts lost to infrastructure that are not counted. See [lost workers](#lost-workers)",
        _FROM_ZERO,
    )
    give_up_after: Any = declare(
        "the longest time since the first enqueue. A retry that would start later is not made", _DURATION
    )
    max_snoozes: Any = declare(
        "how often a handler may snooze. One more snooze counts as a transient failure", _FROM_ZERO
    )
    vary: list[Annotated[str, ValueReader(_entry, {"type": "object"})]] = declare(
        "other values for the step's own keys in later attempts. See [vary](#vary)",
        _listed("a list of mappings, one for each attempt"),
    )
    attempt_cost: Any = declare(
        "what an attempt that reports no cost is charged against a [budget](agents.md#budgets), and what is reserved for an attempt, in USD. By default the highest cost seen",
        _number(0, "attempt_cost cannot be negative"),
    )


RETRY_FIELDS = tuple(name for name in _ORDER if name in RetryFields.model_fields)
RULE_FIELDS = tuple(name for name in _ORDER if name in RuleFields.model_fields)


def _expand(value: Any) -> Any:
    """Returns the long form of a number of attempts. Other values stay as they are."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"max_attempts": value}
    if isinstance(value, bool | Mapping):
        return value
    message = (
        f"retry must be true, false, a number of attempts or a mapping of fields, not {found_in_words(value)}"
    )
    raise ValueError(message + ("; write {max_attempts: unlimited}" if value == "unlimited" else ""))


Retry = Annotated[
    RetryFields | None,
    ShortForms(_expand, {"type": "boolean"}, {"type": "integer", "minimum": 1, "maximum": _LARGEST_COUNT}),
]
RETRY = DeferredReader(lambda value: value, lambda: Retry)
"""The key `retry`, which `parse_retry` reads."""


def parse_retry(value: Any, path: Path) -> tuple[Patch | None, list[RetryFinding]]:
    """Returns the policy of one level, or None and all mistakes in it."""
    try:
        expanded = _expand(value)
    except ValueError as error:
        return None, [(path, str(error))]
    if isinstance(expanded, bool):
        return expanded, []
    # pydantic fails on a key that is not valid Unicode. A file has no such key, but JSON may.
    odd = [key for key in expanded if isinstance(key, str) and _SURROGATE.search(key)]
    found, wrong = read_shape(
        RetryFields, {key: one for key, one in expanded.items() if key not in odd}, lambda _: None
    )
    if wrong or odd:
        keyed = isinstance(value, Mapping)
        return None, [
            *(((*path, key), RetryFields.unknown_key_message(key)) for key in odd),
            *(((*path, *(fault.path if keyed else ())), _words(fault)) for fault in wrong),
        ]
    patch = found.given()
    if "rules" in patch:
        patch["rules"] = [rule.given() for rule in patch["rules"]]
    return patch, []


def _words(fault: Any) -> str:
    key = next((one for one in reversed(fault.path) if isinstance(one, str)), "max_attempts")
    if isinstance(fault.message, Mismatch):
        return f"{key} must be {fault.message.wanted}, not {found_in_words(fault.value)}"
    return str(fault.message)


def retry_of_settings(value: Any, source: str) -> Patch | None:
    """Returns the server's own policy if the setting `retry` gives one. `source` names the setting in error messages."""
    if value is None:
        return None
    patch, findings = parse_retry(value, ("retry",))
    if findings:
        raise UsageError(
            f"{source}: {'; '.join(f'{format_path(path)}: {message}' for path, message in findings)}"
        )
    return patch
