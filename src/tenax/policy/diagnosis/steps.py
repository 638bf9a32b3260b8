"""Finds the closed doors of a step: the conditions that keep it from running now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenax.model.diagnosis import Door, DoorName, Remedy
from tenax.model.execution_views import Execution, HeldWork, Step
from tenax.model.views import Limited, Unserved
from tenax.policy.diagnosis.failures import short_failure
from tenax.policy.diagnosis.words import for_time, in_time, number_of

OVER = ("completed", "failed", "skipped", "unreachable", "cancelled")
"""States of a step after which nothing of it runs, unless a person starts it again."""
_MET = ("completed", "skipped")


def closed_doors(execution: Execution, name: str) -> Iterator[Door]:
    """Yields the closed doors of a step. What a person must open comes first, then what opens by itself."""
    step = execution.steps[name]
    if step.status in OVER:
        return
    subject = f"step {name}"
    yield from _hold(execution, step, subject)
    yield from ready_doors(execution, step, subject)
    if step.waiting and step.status == "running":
        item = step.waiting.get("item")
        awaiting = subject if item is None else f"step {name}[{item}]"
        door = awaited_door(execution, name, awaiting, step.waiting)
        if door is not None:
            yield door
    if step.status == "retrying" and step.available_at is not None:
        yield _due(execution, step, subject)
    yield from _slots(step, subject)
    yield from _needs(execution, step, subject)


def ready_doors(execution: Execution, step: Step, subject: str) -> Iterator[Door]:
    """Yields the doors of ready work of a step: its queue is paused, no worker takes it, or it is at a limit."""
    limited = step.limited
    if limited is not None and limited.paused:
        go_on = Remedy(words="let it go on", command=["queues", "resume", str(limited.queue)])
        yield Door(door="pause", subject=subject, reason=limited.reason, remedies=[go_on])
    if step.unserved is not None:
        yield _unserved(execution, subject, step.unserved)
    if limited is not None and not limited.paused:
        yield Door(
            door="limit",
            subject=subject,
            reason=f"it has been at a limit {for_time(limited.since, execution.now)}: {limited.reason}",
            remedies=[_see_limit(limited)],
        )


def _see_limit(limited: Limited) -> Remedy:
    """Returns how to see what runs under a limit: the queue's, or the `concurrency` of a step or an action."""
    if limited.queue is None and limited.held_by:
        return Remedy(words="see what runs under it", command=["show", str(limited.held_by[0])])
    return Remedy(words="see the limits and what runs", command=["queues"])


def _hold(execution: Execution, step: Step, subject: str) -> Iterator[Door]:
    held = step.held
    if held is None:
        return
    what = f"item {held.item} is" if held.item is not None else "it is"
    if held.rule == "poison" or (held.rule is None and held.lost_by):
        workers = ", ".join(held.lost_by)
        reason = f"{what} quarantined: it has cost {len(held.lost_by)} workers their lease ({workers})"
    else:
        reason = f"{what} held: {held.reason or held.rule}"
    more = f"; {held.items - 1} more of its items are held" if held.items > 1 else ""
    yield Door(
        door="hold", subject=subject, reason=f"{reason}{more}", remedies=[how_to_release(execution, held)]
    )


def how_to_release(execution: Execution, held: HeldWork | None, *which: str) -> Remedy:
    """Returns how held work goes on. `which` are the flags that name it. Nobody can release what a budget cannot pay."""
    if held is not None and held.rule == "budget":
        words = (
            "it goes on when attempts in flight give back what is reserved of the budget; see what they do"
        )
        return Remedy(words=words, command=["show", str(execution.id)])
    return Remedy(words="run it now", command=["retry", str(execution.id), *which])


def _unserved(execution: Execution, subject: str, unserved: Unserved) -> Door:
    """Returns the door of ready work that no worker takes."""
    since = for_time(unserved.since, execution.now)
    return Door(
        door="worker",
        subject=subject,
        reason=f"it has been ready {since}, and {unserved.reason}",
        remedies=_serve(unserved),
    )


def _serve(unserved: Unserved) -> list[Remedy]:
    paused = [one.name for one in unserved.idle if one.state == "paused"]
    if paused:
        return [Remedy(words="give the worker work again", command=["workers", "resume", paused[0]])]
    if unserved.idle:
        name = unserved.idle[0].name
        return [Remedy(words="see why the worker gets no work", command=["explain", "--worker", name])]
    flags = ["--queue", unserved.queue]
    flags += [part for label in sorted(unserved.labels.items()) for part in ("--label", "=".join(label))]
    return [Remedy(words="start a worker that is able to run it", command=["worker", *flags])]


_AWAITED: Mapping[str, DoorName] = {
    "sleep": "sleep",
    "signal": "signal",
    "approval": "approval",
    "callback": "callback",
    "child": "child",
}


def awaited_door(execution: Execution, step: str, subject: str, waiting: Mapping[str, Any]) -> Door | None:
    """Returns the door of work that has begun and waits for something outside. Returns None if it waits for nothing
    that is known here."""
    door = _AWAITED.get(waiting.get("for", ""))
    if door is None:
        return None
    reason, remedies = _awaited_words(execution, step, waiting)
    until = waiting.get("until") or waiting.get("deadline_at")
    if until is not None and door != "sleep":
        reason += f"; it fails {in_time(until, execution.now)} if nothing comes"
    opens_at = until if door == "sleep" else None
    child = _child(execution.steps[step], waiting.get("item")) if door == "child" else None
    return Door(door=door, subject=subject, reason=reason, opens_at=opens_at, child=child, remedies=remedies)


def _awaited_words(execution: Execution, step: str, waiting: Mapping[str, Any]) -> tuple[str, list[Remedy]]:
    number = str(execution.id)
    item = waiting.get("item")
    which = [] if item is None else ["--item", str(item)]
    match waiting["for"]:
        case "sleep":
            return f"it sleeps, and goes on {in_time(waiting['until'], execution.now)}", []
        case "signal":
            signal = str(waiting.get("signal"))
            send = Remedy(words="send the signal", command=["signal", number, signal])
            return f"it waits for the signal {signal!r}", [send]
        case "approval":
            approve = Remedy(words="approve it", command=["approve", number, step, *which])
            reject = Remedy(words="reject it", command=["reject", number, step, *which])
            return "it waits for a person's approval", [approve, reject]
        case "callback":
            return "its callee has accepted the work and has not called back yet", []
        case _:
            child = _child(execution.steps[step], item)
            see = Remedy(words="see what the child waits for", command=["explain", str(child)])
            return f"it waits for its child, execution {child}", [see] if child is not None else []


def _child(step: Step, item: int | None) -> int | None:
    """Returns the execution that the current attempt has started."""
    return next((child.id for child in reversed(step.children) if child.item == item), None)


def _due(execution: Execution, step: Step, subject: str) -> Door:
    assert step.available_at is not None
    counts = f"attempt {step.attempt} has failed" if step.attempt else "an attempt has failed"
    last = next((one for one in reversed(step.attempts) if one.failure), None)
    why = f" ({short_failure(last.failure)})" if last is not None and last.failure else ""
    when = in_time(step.available_at, execution.now)
    return Door(
        door="due",
        subject=subject,
        reason=f"{counts}{why}, and the next one is due {when}",
        opens_at=step.available_at,
        remedies=[Remedy(words="run it now", command=["retry", str(execution.id)])],
    )


def _slots(step: Step, subject: str) -> Iterator[Door]:
    waiting = (step.items or {}).get("waiting", 0)
    if not waiting:
        return
    items = step.items or {}
    used = items.get("running", 0) + items.get("queued", 0) + items.get("accepted", 0)
    in_use = number_of(used, "slot is", "slots are")
    reason = (
        f"{waiting:,} of {items.get('total', 0):,} items wait for a slot, and {in_use} in use (`parallelism`)"
    )
    yield Door(door="slot", subject=subject, reason=reason)


def _needs(execution: Execution, step: Step, subject: str) -> Iterator[Door]:
    if step.status != "pending":
        return
    unmet = unmet_needs(execution, step.needs)
    if unmet:
        states = ", ".join(f"{need} ({execution.steps[need].status})" for need in unmet)
        yield Door(door="needs", subject=subject, reason=f"it needs steps that have not ended: {states}")


def unmet_needs(execution: Execution, needs: Sequence[str]) -> list[str]:
    """Returns the needed steps that have not ended."""
    return [need for need in needs if execution.steps[need].status not in _MET]
