"""Says why work has failed for good, and how to change that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tenax.model.diagnosis import Remedy
from tenax.model.durations import format_duration
from tenax.model.execution_views import Execution
from tenax.policy.operator_actions import FAILED_BY_OPERATOR


class Failed(NamedTuple):
    """Holds the cause of a failure in words, and what a person can do about it."""

    cause: str
    """Goes on after `step NAME failed`."""
    remedies: list[Remedy]


MESSAGE_SHOWN = 200
"""Characters of a failure's message in a sentence. `tenax show` has all of it."""


def why_failed(
    execution: Execution,
    step: str,
    failure: Mapping[str, Any],
    decision: Mapping[str, Any] | None,
    *,
    attempt: int | None,
) -> Failed:
    """Returns why a step or an item has failed, after this attempt. `decision` is the last one to fail it, or None if
    none did."""
    what, again = short_failure(failure), how_to_run_again(execution, step)
    if decision is None or failure.get("reason") == FAILED_BY_OPERATOR:
        when = "" if attempt else " before its first attempt"
        return Failed(f"{when}: {what}", [*_unstarted(failure), *again])
    return Failed(
        f": {what}. {_verdict_words(failure, decision)}",
        [*_by_rule(decision, failure), *_child(failure), *again],
    )


def why_ended(execution: Execution, failure: Mapping[str, Any]) -> Failed:
    """Returns why an execution has failed that no step has failed."""
    again = how_to_run_again(execution)
    if failure.get("class") == "budget":
        spent = (
            "its budget is spent, also for a retry: raise `budget` in the workflow file, and submit the file"
        )
        again = [Remedy(words=spent)]
    return Failed(f": {short_failure(failure)}", again)


def how_to_run_again(execution: Execution, step: str | None = None) -> list[Remedy]:
    """Returns how to start the step again, or what its execution had not done when it failed. A failure that its
    execution has outlived cannot be started again."""
    if execution.status != "failed":
        return []
    if execution.compensation is not None:
        anew = ["retry", str(execution.id), "--new"]
        return [
            Remedy(words="run all of it again as a new execution, since this one was undone", command=anew)
        ]
    if step is None:
        return [
            Remedy(words="run it again, with what has succeeded kept", command=["retry", str(execution.id)])
        ]
    command = ["retry", str(execution.id), "--step", step]
    return [Remedy(words="give it one more attempt, with what has succeeded kept", command=command)]


def _verdict_words(failure: Mapping[str, Any], decision: Mapping[str, Any]) -> str:
    """Returns the reason of the decision as a sentence. The sentence before names the failure, so here it is `It`."""
    reason = str(decision.get("reason") or decision.get("rule"))
    kind = f"{failure.get('class')} ({failure.get('reason')})"
    if reason.startswith(f"{kind}: "):
        reason = reason.removeprefix(f"{kind}: ")
    elif reason.startswith(f"{kind} "):
        reason = f"it {reason.removeprefix(kind).strip()}"
    return f"{reason[:1].upper()}{reason[1:]}"


def short_failure(failure: Mapping[str, Any]) -> str:
    """Returns the class, the reason and the message of a failure."""
    message = " ".join(str(failure.get("message") or "").split())
    if len(message) > MESSAGE_SHOWN:
        message = f"{message[:MESSAGE_SHOWN]}..."
    kind = f"{failure.get('class')} ({failure.get('reason')})"
    return f"{kind}: {message}" if message else kind


def _unstarted(failure: Mapping[str, Any]) -> list[Remedy]:
    if failure.get("reason") == "template_error":
        return [Remedy(words="correct the expression in the workflow file, and run it as a new execution")]
    return []


def _child(failure: Mapping[str, Any]) -> list[Remedy]:
    child = failure.get("child")
    if not isinstance(child, Mapping) or "execution_id" not in child:
        return []
    return [Remedy(words="see why its child failed", command=["explain", str(child["execution_id"])])]


def _by_rule(decision: Mapping[str, Any], failure: Mapping[str, Any]) -> list[Remedy]:
    """Returns how to have such a failure retried the next time, by the rule that gave the verdict."""
    rule, reason = decision["rule"], failure.get("reason")
    saw: Mapping[str, Any] = next(
        (check["saw"] for check in reversed(decision.get("checks", ())) if check["hit"]), {}
    )
    match rule:
        case "class_default":
            return [Remedy(words=f"to have this retried: `retry: {{retry_on: [{reason}]}}` in the step")]
        case "never_on":
            return [Remedy(words=f"to have this retried: take it out of `never_on: {_listed(saw)}`")]
        case "attempts_exhausted" | "rule_attempts_exhausted":
            return [
                Remedy(words=f"to have more attempts: raise `max_attempts` (it is {saw.get('max_attempts')})")
            ]
        case "not_retryable":
            return [Remedy(words="to have this retried: take `retryable: false` out of the step's policy")]
        case "retries_disabled":
            words = (
                "retries are switched off for the whole server: switch them on (setting `retries_enabled`)"
            )
            return [Remedy(words=words)]
        case "give_up_after":
            limit = format_duration(saw["give_up_after"]) if "give_up_after" in saw else "not known"
            return [Remedy(words=f"to have it tried for longer: raise `give_up_after` (it is {limit})")]
        case "retry_when" | "stop_when" | "condition_error":
            condition = str(saw.get("condition", ""))
            named = condition if rule == "condition_error" else f"{rule}: {condition}"
            return [
                Remedy(words=f"to have this retried: change the condition `{named}` of the step's policy")
            ]
        case "rule_retry":
            return [Remedy(words=f"to have this retried: change `{saw.get('rule')}` of the step's policy")]
        case "hold_expired":
            return [
                Remedy(words="it was held for too long: find what it waited for before you start it again")
            ]
        case "budget":
            return [Remedy(words="to have it tried again: raise `budget` in the workflow file")]
        case _:
            return []


def _listed(saw: Mapping[str, Any]) -> str:
    return f"[{', '.join(map(str, saw.get('never_on', ())))}]"
