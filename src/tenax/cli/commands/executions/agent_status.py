"""Describes an agent of an execution as the status of an AgentTask: its phase, its attempts and their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tenax.errors import NotFound, UsageError
from tenax.model.source.findings import shorten, suggest

Phase = Literal[
    "Pending", "Running", "Retrying", "Completed", "Failed", "BudgetExceeded", "TimedOut", "Cancelled"
]
API_VERSION = "core.hortator.ai/v1alpha1"
_BY_CLASS: Mapping[str, Phase] = {"budget": "BudgetExceeded", "timeout": "TimedOut", "cancelled": "Cancelled"}
_BY_STATUS: Mapping[str, Phase] = {
    "running": "Running",
    "retrying": "Retrying",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "unreachable": "Cancelled",
    "skipped": "Cancelled",
}


def agent_task(execution: Mapping[str, Any], step: str | None) -> dict[str, Any]:
    """Returns an agent step of an execution in the form of an AgentTask."""
    name = _agent_step(execution, step)
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentTask",
        "metadata": {
            "name": execution["workflow"],
            "labels": {"execution": str(execution["id"]), "step": name},
        },
        "status": _status(execution["steps"][name]),
    }


def _agent_step(execution: Mapping[str, Any], step: str | None) -> str:
    agents = [name for name, one in execution["steps"].items() if one["type"] == "agent"]
    if step is not None:
        if step not in agents:
            hint = suggest(step, agents)
            raise NotFound(f"execution {execution['id']} has no agent step `{shorten(step)}`{hint}")
        return step
    if len(agents) != 1:
        words = f"has {len(agents)} agent steps" if agents else "has no agent step"
        remedy = f"name one: --step {agents[0]}" if agents else None
        raise UsageError(f"execution {execution['id']} {words}", remedy=remedy)
    if execution["steps"][agents[0]]["for_each"]:
        raise UsageError(
            f"step {agents[0]} is a fan-out: each of its items is an agent",
            remedy=f"see them: tenax items {execution['id']} {agents[0]}",
        )
    return str(agents[0])


def _status(step: Mapping[str, Any]) -> dict[str, Any]:
    history = [_record(one) for one in step["attempts"]]
    failed = [one for one in step["attempts"] if one["failure"]]
    status: dict[str, Any] = {"phase": _phase(step), "attempts": len(history)}
    if failed:
        status["lastFailureReason"] = failed[-1]["failure"]["message"]
        status["lastFailureTime"] = failed[-1]["ended_at"]
    if step["status"] == "retrying":
        status["nextRetryTime"] = step["available_at"]
    if (used := _used(step["attempts"])) is not None:
        status["usage"] = used
    return {**status, "history": history}


def _phase(step: Mapping[str, Any]) -> Phase:
    status = step["status"]
    if status == "failed":
        return _of_failure(step)
    if status == "held" and step["attempts"]:
        return "Retrying"
    return _BY_STATUS.get(status, "Pending")


def _of_failure(step: Mapping[str, Any]) -> Phase:
    last = step["attempts"][-1] if step["attempts"] else {}
    if last.get("rule") == "budget":
        return "BudgetExceeded"
    return _BY_CLASS.get((step["failure"] or {}).get("class", ""), "Failed")


def _record(attempt: Mapping[str, Any]) -> dict[str, Any]:
    failure = attempt["failure"]
    record = {"attempt": attempt["attempt"], "startTime": attempt["started_at"]}
    if attempt["ended_at"]:
        record["endTime"] = attempt["ended_at"]
    if failure is not None:
        if "exit_code" in failure:
            record["exitCode"] = failure["exit_code"]
        record["reason"] = f"{failure['class']}: {failure['message']}"
    elif attempt["outcome"] == "succeeded":
        record |= {"exitCode": 0, "reason": "completed"}
    else:
        record["reason"] = attempt["outcome"]
    return record


def _used(attempts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    told = [one["usage"] for one in attempts if one.get("usage")]
    if not told:
        return None
    return {
        "tokens": sum(one.get("tokens") or 0 for one in told),
        "costUsd": round(sum(one.get("cost_usd") or 0.0 for one in told), 9),
    }
