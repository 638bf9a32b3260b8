"""Holds workflows whose steps may fail, and reads how their steps ended."""

from __future__ import annotations

import json
from typing import Any

from support.fan_out_workflows import CALL, give_up
from support.hand import Hand

READS = {"args": {"status": "{{ steps.a.status }}", "got": "{{ steps.a.result }}"}}


def workflow(*steps: dict[str, Any], **top: Any) -> str:
    return json.dumps({"name": "fallbacks", **top, "workflow": [{**CALL, **step} for step in steps]})


async def run(hand: Hand, source: str, *failing: str, **more: Any) -> dict[str, Any]:
    """Runs an execution to its end, in waves. These steps fail for good, and the others return their own names."""
    id_ = await hand.submit(source, **more)
    while leased := await hand.lease(slots=50):
        for a in leased:
            await (give_up(hand, a, f"{a.step} broke") if a.step in failing else hand.succeed(a, a.step))
    return await hand.get(id_)


def statuses(execution: dict[str, Any]) -> dict[str, str]:
    return {name: step["status"] for name, step in execution["steps"].items()}


async def story(hand: Hand, execution: dict[str, Any]) -> list[str]:
    """Returns how the steps ended, such as `b step_completed`."""
    return [
        f"{e['step']} {e['type']}"
        for e in await hand.events(execution["id"])
        if e["type"].startswith("step_") and e["type"] != "step_enqueued"
    ]
