"""Diagnoses one item of a fan-out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenax.model.diagnosis import Diagnosis, Door, Remedy
from tenax.model.execution_views import Execution
from tenax.model.views import ItemInfo
from tenax.policy.diagnosis.failures import why_failed
from tenax.policy.diagnosis.steps import awaited_door, how_to_release, ready_doors
from tenax.policy.diagnosis.words import in_time


def diagnose_item(
    execution: Execution, step: str, item: ItemInfo, decision: Mapping[str, Any] | None
) -> Diagnosis:
    """Diagnoses an item. `decision` is the last one on it."""
    name = f"{step}[{item.item}]"
    about = f"item {item.item} of step {step} of execution {execution.id}"
    evidence = list(_evidence(item))
    if item.status == "succeeded":
        return Diagnosis(about=about, sentence=f"Item {name} succeeded.", evidence=evidence)
    if item.status == "cancelled":
        sentence = f"Item {name} was cancelled: its step or its execution ended before it was done."
        return Diagnosis(about=about, sentence=sentence, evidence=evidence)
    if item.status == "failed":
        failed = why_failed(execution, step, item.failure or {}, decision, attempt=item.attempt)
        remedies = [_of_item(remedy, item) for remedy in failed.remedies]
        sentence = f"Item {name} failed{failed.cause}."
        return Diagnosis(about=about, sentence=sentence, remedies=remedies, evidence=evidence)
    doors = list(_doors(execution, step, item))
    if not doors:
        state = (
            f"runs: attempt {item.attempt} on worker {item.worker}" if item.worker else f"is {item.status}"
        )
        return Diagnosis(about=about, sentence=f"Item {name} {state}.", evidence=evidence)
    first = doors[0]
    following = f"It goes on {in_time(first.opens_at, execution.now)}." if first.opens_at else None
    return Diagnosis(
        about=about,
        sentence=f"Item {name} does not run now: {first.reason}.",
        doors=doors,
        next=following,
        remedies=first.remedies,
        evidence=evidence,
    )


def _of_item(remedy: Remedy, item: ItemInfo) -> Remedy:
    """Narrows a command for the step to its item."""
    if remedy.command is None or "--step" not in remedy.command:
        return remedy
    return Remedy(words=remedy.words, command=[*remedy.command, "--item", str(item.item)])


def _doors(execution: Execution, step: str, item: ItemInfo) -> Iterator[Door]:
    name, subject = f"{step}[{item.item}]", f"item {item.item} of step {step}"
    number = str(execution.id)
    if execution.status == "paused":
        resume = Remedy(words="let it go on", command=["resume", number])
        yield Door(door="pause", subject=subject, reason="its execution is paused", remedies=[resume])
    which = ["--step", step, "--item", str(item.item)]
    if item.status == "held":
        lost = f": it has cost {len(item.lost_by)} workers their lease ({', '.join(item.lost_by)})"
        reason = (
            f"it is quarantined{lost}"
            if item.lost_by
            else f"it is held: {item.last_error or 'no reason is stored'}"
        )
        release = how_to_release(execution, execution.steps[step].held, *which)
        yield Door(door="hold", subject=subject, reason=reason, remedies=[release])
    elif item.status == "retrying" and item.available_at is not None:
        error = f" ({item.last_error})" if item.last_error else ""
        when = in_time(item.available_at, execution.now)
        reason = f"attempt {item.attempt} has failed{error}, and the next one is due {when}"
        run = Remedy(words="run it now", command=["retry", number, *which])
        yield Door(door="due", subject=subject, reason=reason, opens_at=item.available_at, remedies=[run])
    elif item.status == "accepted" and item.waiting is not None:
        door = awaited_door(execution, step, subject, {**_plain(item), "item": item.item})
        if door is not None:
            yield door
    elif item.status == "waiting":
        yield Door(
            door="slot",
            subject=subject,
            reason=f"{name} waits for one of the slots of its step (`parallelism`)",
        )
    elif item.status == "queued":
        yield from ready_doors(execution, execution.steps[step], subject)


def _plain(item: ItemInfo) -> dict[str, Any]:
    waiting = item.waiting
    assert waiting is not None
    names = ("signal", "child", "until", "deadline_at")
    found = {name: value for name in names if isinstance(value := getattr(waiting, name), str | int)}
    return {"for": waiting.kind, **found}


def _evidence(item: ItemInfo) -> Iterator[str]:
    if item.attempt is not None:
        limit = "no limit" if item.max_attempts is None else f"the limit is {item.max_attempts}"
        yield f"its last attempt is {item.attempt}; {limit}"
    if item.last_error is not None:
        yield f"the last error: {item.last_error}"
