"""Counts a whole log at once, item by item, the slow way. It shares no code with the roll-ups."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

_OUTCOME = {
    "action_completed": "succeeded", "compensation_completed": "succeeded", "action_error": "failed",
    "compensation_error": "failed", "action_not_completed": "not_completed", "action_snoozed": "snoozed",
    "action_polled": "polled", "lease_expired": "lost", "queue_expired": "expired", "lease_released": "released",
}  # fmt: skip
_FAILED_FOR_GOOD = ("step_failed_terminal", "item_failed", "compensation_failed")
_LASTING = ("execution_started", "execution_completed", "execution_failed", "execution_cancelled")


def naive_counts(events: list[dict[str, Any]], workflows: dict[int, str]) -> dict[str, Counter[Any]]:
    """Returns the counts of events (rows of `tenax.log`, taken apart, in the order of their ids)."""
    found: dict[str, Counter[Any]] = {
        "attempts": Counter(), "waited": Counter(), "seconds": Counter(), "events": Counter(), "started": Counter(),
        "retries": Counter(), "failed": Counter(), "recovered": Counter(), "lateness": Counter(), "reasons": Counter(),
        "retried": Counter(), "given_up": Counter(), "worker_seconds": Counter(), "worker_waited": Counter(),
    }  # fmt: skip
    items: dict[Any, list[dict[str, Any]]] = {}
    for e in events:
        minute = int(e["at"].timestamp()) // 60 * 60
        workflow = workflows[e["execution_id"]]
        if e["type"] in _LASTING or e["type"] == "late_result":
            found["events"][minute, workflow, e["type"]] += 1
        elif e["step"] is not None:
            undoes = e["type"].startswith("compensation") or bool(e["data"].get("compensation"))
            items.setdefault((e["execution_id"], e["step"], e["item"], undoes), []).append(
                {**e, "minute": minute}
            )
    for (execution_id, step, _, _), own in items.items():
        _count_item(found, own, workflows[execution_id], step)
    return found


def _count_item(  # noqa: C901 -- one straight walk, to compare with
    found: dict[str, Counter[Any]], events: list[dict[str, Any]], workflow: str, step: str
) -> None:
    failure: tuple[str, str] | None = None  # of the attempt that is being retried
    pending, due, delay, runner, failed_attempt = False, None, 0.0, None, 0
    for place, e in enumerate(events):
        data, type_ = e["data"], e["type"]
        if type_ in ("action_started", "compensation_started"):
            if data["worker"]:
                found["started"][e["minute"], data["worker"]] += 1
            if e["attempt"] == 1:
                found["events"][e["minute"], workflow, "first_attempt"] += 1
            if data["retry"]["is_retry"] and failure is None:
                failure, failed_attempt, delay, pending = (
                    ("unknown", "manual_retry"),
                    e["attempt"] - 1,
                    0.0,
                    True,
                )
                due = e["at"].timestamp()
            if failure is not None:
                runner = data["worker"]
                if pending:
                    found["events"][e["minute"], workflow, "retry"] += 1
                    found["reasons"][failure[1]] += 1
                    found["lateness"][e["minute"], max(e["at"].timestamp() - due, 0.0)] += 1
                    if runner:
                        found["retries"][e["minute"], runner] += 1
                pending = False
        elif type_ in _OUTCOME:
            how = _OUTCOME[data["how"] if data.get("how") in _OUTCOME else type_]
            own = data.get("failure") or {}
            if failure is not None and e["attempt"] <= failed_attempt:
                failure = None  # a callback for an attempt that had failed
            key = (e["minute"], workflow, step, how, own.get("class", ""), own.get("reason", ""),
                   min(e["attempt"], 20), *(failure or ("", "")))  # fmt: skip
            found["attempts"][key] += 1
            found["seconds"][key] += data.get("seconds") or 0.0
            if how in ("snoozed", "polled", "released"):
                continue
            if failure is not None:
                found["waited"][key] += delay
                if runner:
                    found["recovered"][e["minute"], runner] += how == "succeeded"
                    found["worker_seconds"][e["minute"], runner] += data.get("seconds") or 0.0
                    found["worker_waited"][e["minute"], runner] += delay
            if how != "succeeded" and data.get("worker"):
                found["failed"][e["minute"], data["worker"]] += 1
            failure = (own["class"], own["reason"]) if how != "succeeded" else None
            failed_attempt = e["attempt"]
            if _goes_on(events[place + 1 :]):
                found["retried"][key] += how != "succeeded"
            else:
                failure = None
                found["given_up"][key] += how != "succeeded" and _failed_for_good(
                    events[place + 1 :], e["at"]
                )
        elif type_ in ("step_retry", "compensation_retry", "retry_held") and failure is not None:
            if _after_rest(events[:place]):
                continue
            delay = data["delay_seconds"]
            pending = type_ != "retry_held" and not data.get("held")
            due = datetime.fromisoformat(data["available_at"]).timestamp()
        elif (
            type_ in ("retry_rescheduled", "retry_released")
            and data.get("available_at")
            and failure is not None
        ):
            moved_to = datetime.fromisoformat(data["available_at"]).timestamp()
            if pending:
                delay = max(0.0, delay + moved_to - due)
            pending, due = True, moved_to
        elif type_ == "retry_rescheduled" and data.get("was") == "failed" and e["attempt"]:
            failure, failed_attempt, delay, pending = ("unknown", "manual_retry"), e["attempt"], 0.0, True
            due = datetime.fromisoformat(data["available_at"]).timestamp()
        elif type_ in _FAILED_FOR_GOOD or type_ in ("item_cancelled", "compensation_cancelled"):
            failure, pending = None, False


def _goes_on(later: list[dict[str, Any]]) -> bool:
    """Tells whether a failure is retried or held: the next event of the item says so."""
    return bool(later) and later[0]["type"] in ("step_retry", "compensation_retry", "retry_held")


def _failed_for_good(later: list[dict[str, Any]], at: datetime) -> bool:
    """Tells whether an item failed for good by its last failure: the same transaction says so."""
    together = [one["type"] for one in later[:2] if one["at"] == at]
    return any(one in _FAILED_FOR_GOOD for one in together)


def _after_rest(earlier: list[dict[str, Any]]) -> bool:
    """Tells whether the attempt before only snoozed or was polled."""
    last = earlier[-1]
    how = last["data"].get("how")
    return last["type"] in ("action_snoozed", "action_polled") or how == "action_snoozed"
