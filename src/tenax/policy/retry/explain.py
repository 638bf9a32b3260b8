"""Explains a stored decision in plain English. It only reads the record: nothing is decided or computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenax.model.attempt.outcome import Facts
from tenax.model.decision import Controls, DelayParts, Ledger
from tenax.model.durations import duration_fields, format_duration
from tenax.model.policy import Policy
from tenax.policy.retry.attempt_words import only_run, progress, uncounted_progress, used
from tenax.policy.retry.rules import RULES

_VERDICTS = {
    "complete": "The step is complete.",
    "retry": "It is run again.",
    "hold": "It waits: an attempt is due, but held back.",
    "fail": "It has failed for good.",
    "stop": "Nothing follows: the execution or the step has ended.",
}
_LONG_EVIDENCE = frozenset({"data", "traceback", "stderr_tail", "exception_bases", "request"})


def explain_decision(
    decision: Mapping[str, Any],
    failure: Mapping[str, Any] | None,
    *,
    step: str,
    attempt: int | None,
    brief: bool = False,
) -> str:
    """Returns what happened, what was decided by which rule, what that rule and those before it
    checked, and the delay. `attempt` is the last one, or None before the first one. `brief` leaves out the rules that did
    not apply."""
    when = f"before attempt {(attempt or 0) + 1}" if _is_admission(decision) else f"attempt {attempt}"
    lines = [
        f"Step {step}, {when}: {decision['verdict']}. {_VERDICTS.get(decision['verdict'], '')}".rstrip(),
        *_what_happened(failure),
        f"Decided by: {decision['rule']} - {rule_meaning(decision['rule'])}.",
        f"Why: {decision['reason']}.",
        *_attempts(decision, attempt),
        *_delay(decision),
        *_checks(decision.get("checks", ()), brief=brief),
    ]
    return "\n".join(lines)


def _is_admission(decision: Mapping[str, Any]) -> bool:
    """Returns whether it was decided on the next attempt, and not on the outcome of one."""
    return any(check["rule"] == "admission" for check in decision.get("checks", ()))


def work_name(step: str | None, item: int | None, *, compensation: bool) -> str:
    """Returns what a decision is on: a step, an item of its fan-out, or a compensation."""
    which = "" if item is None else f"[{item}]"
    return f"{step or ''}{which}{' (compensation)' if compensation else ''}"


def rule_meaning(rule: str) -> str:
    """Returns the published line about a rule. `rules[0]`, `rules[1]` and so on share one."""
    return RULES.get("rules[i]" if rule.startswith("rules[") else rule, "a rule this version does not know")


def _what_happened(failure: Mapping[str, Any] | None) -> list[str]:
    if failure is None:
        return []
    lines = [f"What happened: {failure['class']} ({failure['reason']}): {failure['message']}"]
    evidence = [
        f"{name} {value_words(name, value)}"
        for name, value in failure.items()
        if name not in ("class", "reason", "message") and name not in _LONG_EVIDENCE
    ]
    if evidence:
        lines.append(f"Evidence: {', '.join(evidence)}.")
    return lines


def _attempts(decision: Mapping[str, Any], attempt: int | None) -> list[str]:
    before, after, limit = decision["before"], decision["after"], decision["max_attempts"]
    granted = after.get("granted", 0)
    if attempt is None or _is_admission(decision):
        return [f"Attempts: {used(after['counted'], limit, granted)}."]
    if {"held_for", "released_due_in"} & decision.get("controls", {}).keys():
        return [f"Attempts: {used(after['counted'], limit, granted)}; none has ended since it was held."]
    if decision["rule"] == "not_retryable" and decision["verdict"] == "fail":
        line = f"Attempts: {only_run(attempt, limit)}"
    elif after["counted"] > before["counted"]:
        line = f"Attempts: {progress(after['counted'], limit, granted)}"
    else:
        line = f"Attempts: {uncounted_progress(attempt, after['counted'], limit, granted)}"
    if after["exempted"]:
        line += f"; {after['exempted']} lost to infrastructure and not counted"
    return [line + "."]


def _delay(decision: Mapping[str, Any]) -> list[str]:
    parts = decision.get("delay")
    if parts is None:
        return []
    total = format_duration(parts["delay"])
    match parts["source"]:
        case "snooze":
            return [f"Delay: {total}, as the handler asked when it snoozed."]
        case "until":
            return [f"Delay: {total}, as `until` says."]
        case "release":
            return [f"Delay: {total}, until the time at which the retry was due before it was held."]
        case "handler":
            asked, cap = format_duration(parts["hint"]), format_duration(parts["hint_cap"])
            limit = f", limited by max_retry_after ({cap})" if parts["hint"] > parts["hint_cap"] else ""
            return [f"Delay: {total}. The handler asked for {asked}, which replaces the curve{limit}."]
        case _:
            return [f"Delay: {total}. {_curve(decision, parts)}{_hint(parts)}"]


def _curve(decision: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    jittered, cap = format_duration(parts["jittered"]), format_duration(parts["cap"])
    roll = f"the draw was {parts['roll']:.3f}"
    failures = f"{parts['n']} counted failure{'s' if parts['n'] != 1 else ''}"
    if not decision["after"]["counted"]:
        failures = "a first failure, though none has counted yet"
    if parts["backoff"] == "decorrelated":
        previous = decision["before"].get("previous_delay")
        grown = (
            "the initial delay" if previous is None else f"the previous delay ({format_duration(previous)})"
        )
        return (
            f"Drawn between the initial delay and 3 times {grown}, within the cap {cap}: {jittered} ({roll})."
        )
    curve = f"The {parts['backoff']} curve gives {format_duration(parts['curve'])} after {failures}"
    capped = f" (the cap, max_delay {cap})" if parts["curve"] >= parts["cap"] else f" (cap {cap})"
    if parts["jittered"] == parts["curve"]:
        return f"{curve}{capped}; no jitter changed it."
    return f"{curve}{capped}; jitter made it {jittered} ({roll})."


def _hint(parts: Mapping[str, Any]) -> str:
    hint, ceiling = parts.get("hint"), parts.get("hint_cap")
    if hint is None:
        return ""
    asked = f" The callee asked to wait {format_duration(hint)} (Retry-After)"
    if ceiling is None:
        return f"{asked}, which honor_retry_after: false ignores."
    if hint > ceiling:
        asked += f", of which max_retry_after honours {format_duration(ceiling)}"
    if parts["source"] == "retry_after":
        return f"{asked}: that is the floor, with jitter only upward."
    return f"{asked}, which the curve already exceeds."


def _checks(checks: Sequence[Mapping[str, Any]], *, brief: bool) -> list[str]:
    if not brief:
        return ["Rules looked at, in order:", *(f"  {_check(check)}" for check in checks)]
    hits = [check for check in checks if check["hit"]]
    return [f"Of {len(checks)} rules looked at:", *(f"  {_check(check)}" for check in hits)]


def _check(check: Mapping[str, Any]) -> str:
    mark = "->" if check["hit"] else "  "
    saw = ", ".join(f"{name} {value_words(name, value)}" for name, value in check["saw"].items())
    return f"{mark} {check['rule']}: {saw}"


_DURATIONS = duration_fields(Policy, Facts, Ledger, Controls, DelayParts) | {"due_in"}
"""Values of checks and evidence that are durations. `due_in` is `released_due_in` of the controls, in the check `released`."""


def value_words(name: str, value: Any) -> str:
    """Writes a value that a rule has seen, or a field of a ledger, by its name."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case int() | float() if name in _DURATIONS:
            return format_duration(value)
        case list():
            return f"[{', '.join(str(item) for item in value)}]"
        case dict():
            return _cut(f"{{{', '.join(f'{key}: {value_words(key, of)}' for key, of in value.items())}}}")
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
