"""Explains in plain English why attempts were retried or not."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tenax.engine.context import EngineContext
from tenax.engine.slices import Sliced
from tenax.engine.views.executions import event_pages
from tenax.engine.views.view_room import ViewRoom
from tenax.errors import NotFound
from tenax.model.execution_views import Event
from tenax.model.views import Explanation
from tenax.policy.retry.explain import explain_decision, work_name

_SUCCESSES = ("action_completed", "compensation_completed")
"""Events of successes. A success may come after its attempt had failed by its deadline: that failure is not its own."""


async def explain(
    context: EngineContext,
    execution_id: int,
    *,
    step: str | None = None,
    attempt: int | None = None,
    item: int | None = None,
) -> list[Explanation]:
    """Explains every decision on retries of an execution, or only those of one step, item or attempt.

    Raises NotFound if an attempt has no decision, or if an item does that no step narrows down. An item of a named step
    may have none yet: it waits, or runs for the first time.
    """
    found: list[Event] = []
    known: set[str] = set()
    room = ViewRoom(context.settings.max_rendered)
    async for page in event_pages(context, execution_id):
        known |= {e.step for e in page if e.step is not None}
        for e in page:
            if e.data.keys() & {"decision", "failure"}:
                told = _without_results(e)
                room.fit(told)
                found.append(told)
    if step is not None and step not in known:
        raise NotFound(
            f"execution {execution_id} has no events of a step {step!r}; there are: {', '.join(sorted(known))}"
        )
    chosen = [
        e for e in found
        if "decision" in e.data
        and (step is None or e.step == step)
        and (attempt is None or e.attempt == attempt)
        and (item is None or e.item == item)
    ]  # fmt: skip
    if not chosen and (attempt is not None or (item is not None and step is None)):
        which = [f"attempt {attempt}"] if attempt is not None else []
        which += [f"item {item}"] if item is not None else []
        which += [f"step {step}"] if step is not None else []
        raise NotFound(f"execution {execution_id} has no decision on {' of '.join(which)}")
    failures = {_attempt_of(e): e.data["failure"] for e in reversed(found) if e.data.get("failure")}
    return [
        _explained(e, None if e.type in _SUCCESSES else failures.get(_attempt_of(e)))
        async for e in Sliced(chosen)
    ]


def _without_results(e: Event) -> Event:
    """Returns the parts of an event that are explained. All results of a long history together would not fit into
    memory."""
    return replace(e, data={name: e.data[name] for name in ("decision", "failure") if name in e.data})


def _attempt_of(e: Event) -> tuple[Any, ...]:
    return (e.step, e.item, e.attempt, e.type.startswith("compensation_"))


def _explained(decided: Event, failure: dict[str, Any] | None) -> Explanation:
    decision = decided.data["decision"]
    return Explanation(
        step=decided.step,
        item=decided.item,
        attempt=decided.attempt,
        compensation=decided.type.startswith("compensation_"),
        at=decided.at,
        verdict=decision["verdict"],
        rule=decision["rule"],
        reason=decision.get("reason"),
        failure=failure,
        decision=decision,
        text=_text(decided, decision, failure),
    )


def _text(decided: Event, decision: dict[str, Any], failure: dict[str, Any] | None) -> str:
    name = work_name(decided.step, decided.item, compensation=decided.type.startswith("compensation_"))
    if "checks" not in decision:
        return f"{name}: attempt {decided.attempt} succeeded at once; there was nothing to decide."
    return explain_decision(decision, failure, step=name, attempt=decided.attempt)
