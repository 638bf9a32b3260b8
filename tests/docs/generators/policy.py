"""Makes tables about policies, failures and decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

from generators.tables import code, codes, table
from tenax.model.attempt.classify import classify
from tenax.model.attempt.exceptions import PROGRAMMING_ERRORS
from tenax.model.attempt.outcome import (
    FAILURE_CLASSES,
    INFRASTRUCTURE,
    NEVER_RETRIED,
    RETRIED_BY_DEFAULT,
    Facts,
)
from tenax.model.attempt.reasons import REASON_OF_CLASS, REASON_PATTERNS, REASONS, SERVER_REASONS
from tenax.model.durations import duration_fields, format_duration
from tenax.model.parse.retry_fields import RETRY_FIELDS, RULE_FIELDS, RetryFields
from tenax.model.policy import Backoff, Policy
from tenax.policy.lint.lint import GROUPS, OWN_CODES
from tenax.policy.lint.rule import RULES as LINT_RULES
from tenax.policy.lint.rule import LintRule
from tenax.policy.retry.backoff import bounds
from tenax.policy.retry.delay_table import delay_table
from tenax.policy.retry.rules import RULES

_DURATIONS = duration_fields(Policy)
_CASES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("the attempt outlived its `timeout`", {"timed_out": True}, "failed"),
    ("`Fatal`, or `success: false`", {"fatal": True}, "failed"),
    ("`NotCompleted`", {}, "not_completed"),
    ("result file says `failed`", {"result_file": "failed", "exit_code": 1}, "failed"),
    ("result file says `budget_exceeded`", {"result_file": "budget_exceeded", "exit_code": 1}, "failed"),
    ("exit 0, result file unreadable", {"result_file": "unreadable", "exit_code": 0}, "failed"),
    ("exit 7, no result file", {"result_file": "missing", "exit_code": 7}, "failed"),
    (
        "exit 7, result file says neither success nor failure",
        {"result_file": "other", "exit_code": 7},
        "failed",
    ),
    ("exit 7, result file unreadable", {"result_file": "unreadable", "exit_code": 7}, "failed"),
    ("killed by signal 9", {"signal": 9, "result_file": "missing"}, "failed"),
    ("killed for memory", {"signal": 9, "oom_killed": True}, "failed"),
    ("connection refused", {"connection": "refused"}, "failed"),
    ("host name not found", {"connection": "dns"}, "failed"),
    ("HTTP 302 that is not followed", {"status_code": 302}, "failed"),
    ("HTTP 400", {"status_code": 400}, "failed"),
    ("HTTP 401", {"status_code": 401}, "failed"),
    ("HTTP 403", {"status_code": 403}, "failed"),
    ("HTTP 404", {"status_code": 404}, "failed"),
    ("HTTP 408", {"status_code": 408}, "failed"),
    ("HTTP 425", {"status_code": 425}, "failed"),
    ("HTTP 429", {"status_code": 429}, "failed"),
    ("HTTP 500", {"status_code": 500}, "failed"),
    ("HTTP 503", {"status_code": 503}, "failed"),
    ("`ValueError` itself", {"exception": "ValueError"}, "failed"),
    (
        "`json.JSONDecodeError` (a subclass of it)",
        {"exception": "json.decoder.JSONDecodeError", "exception_bases": ("builtins.ValueError",)},
        "failed",
    ),
    ("`PermissionError`", {"exception": "PermissionError"}, "failed"),
    ("`ConnectionResetError`", {"exception": "ConnectionResetError"}, "failed"),
    (
        "a `ValidationError` of any library",
        {"exception": "pydantic_core.ValidationError", "exception_bases": ("builtins.ValueError",)},
        "failed",
    ),
    ("`RuntimeError`, or any other exception", {"exception": "RuntimeError"}, "failed"),
    ("nothing is known", {}, "failed"),
)


def policy_fields() -> str:
    """Returns each field with the description of its declaration, and the default of the policy."""
    defaults, declared = Policy(), RetryFields.model_fields
    return table(
        ("field", "default", "meaning"),
        [
            (code(name), _default(name, getattr(defaults, name)), declared[name].description)
            for name in RETRY_FIELDS
        ],
    )


def _default(name: str, value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return format_duration(value) if name in _DURATIONS else str(value)


def rule_fields() -> str:
    return codes(RULE_FIELDS)


def curves() -> str:
    """Returns the nominal delay before each attempt, from 1 s with a cap of 20 s."""
    base = Policy(max_attempts=8, initial_delay=1.0, max_delay=20.0, jitter=0.0)
    names = [name for name in get_args(Backoff) if name != "decorrelated"]
    columns = {name: delay_table(replace(base, backoff=name)) for name in names}
    rows = [
        (n + 1, *(format_duration(columns[name][n].nominal) for name in names))
        for n in range(base.max_attempts or 0)
    ]
    return table(("attempt", *map(code, names)), rows)


def default_delays() -> str:
    """Returns the default policy with six attempts, as `tenax delays` prints it."""
    rows = delay_table(Policy(max_attempts=6))
    shown = [
        (
            row.attempt,
            *(format_duration(t) for t in (row.least, row.nominal, row.most, row.cumulative_nominal)),
        )
        for row in rows
    ]
    return table(("attempt", "least", "nominal", "most", "cumulative"), shown)


def jitter_ranges() -> str:
    """Returns the ranges of jitter around a curve of 10 s: far from the cap, and at it."""
    kinds = (("0", 0.0), ("0.2", 0.2), ("true", 0.5), ("full", "full"), ("equal", "equal"))
    rows = [(code(name), *(_range(10.0, jitter, cap) for cap in (300.0, 10.0))) for name, jitter in kinds]
    return table(("`jitter`", "curve 10s, cap 300s", "curve 10s, cap 10s"), rows)


def _range(delay: float, jitter: Any, cap: float) -> str:
    least, most = bounds(delay, jitter, cap)
    return format_duration(least) if least == most else f"{format_duration(least)} to {format_duration(most)}"


def decision_rules() -> str:
    return table(
        ("", "rule", "what it says"),
        [(n, code(name), words) for n, (name, words) in enumerate(RULES.items(), 1)],
    )


def failure_classes() -> str:
    rows = [
        (
            code(name),
            "never" if name in NEVER_RETRIED else ("yes" if name in RETRIED_BY_DEFAULT else "no"),
            "yes" if name in INFRASTRUCTURE else "",
            code(REASON_OF_CLASS[name]),
        )
        for name in FAILURE_CLASSES
    ]
    return table(
        ("class", "retried by default", "infrastructure", "reason where nothing more is known"), rows
    )


def reasons() -> str:
    rows = [
        (code(name), words, "the server only" if name in SERVER_REASONS else "")
        for name, words in (*REASONS.items(), *REASON_PATTERNS.items())
    ]
    return table(("reason", "meaning", "given by"), rows)


def classification() -> str:
    rows = []
    for words, facts, status in _CASES:
        failure = classify(Facts(**facts), status=status)  # type: ignore[arg-type]  # a literal, from the table above
        rows.append((words, code(failure.failure_class), code(failure.reason)))
    return table(("what was seen", "class", "reason"), rows)


def programming_errors() -> str:
    return codes(sorted(name.removeprefix("builtins.") for name in PROGRAMMING_ERRORS))


def lint_rules() -> str:
    return "\n\n".join(_lint_parts())


def lint_codes() -> str:
    return table(("code", "what it means"), [(code(name), words) for name, words in OWN_CODES.items()])


def _lint_parts() -> Iterator[str]:
    for title, module in GROUPS.items():
        yield f"## {title}"
        for rule in LINT_RULES.values():
            if rule.check.__module__ == module.__name__:
                yield _lint_rule(rule)


def _lint_rule(rule: LintRule) -> str:
    return (
        f"### {rule.code}: {rule.title}\n\n{rule.severity.capitalize()}. {rule.why} **Remedy**: {rule.remedy}.\n\n"
        f"```yaml\n# {rule.code} is found here\n{rule.wrong}```\n\n```yaml\n# and not here\n{rule.right}```"
    )


BLOCKS = {
    "lint-rules": lint_rules,
    "lint-own-codes": lint_codes,
    "policy-fields": policy_fields,
    "rule-fields": rule_fields,
    "curves": curves,
    "default-delays": default_delays,
    "jitter-ranges": jitter_ranges,
    "decision-rules": decision_rules,
    "failure-classes": failure_classes,
    "reasons": reasons,
    "classification": classification,
    "programming-errors": programming_errors,
}
