"""Sends signals and approvals to executions that wait for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.commands.operate.control import Reason
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import print_json, say
from tenax.errors import UsageError
from tenax.model.source.findings import shorten, suggest_or_list
from tenax.model.source.json_source import parse_json

WaitingStep = Annotated[str, Parameter(name="STEP", help="The step that waits.")]
Item = Annotated[int | None, Parameter(help="The item of its fan-out, from 0.")]


def signal(
    execution_id: ExecutionId,
    name: Annotated[str, Parameter(name="NAME", help="The signal that a step waits for.")],
    /,
    *,
    data: Annotated[
        str | None,
        Parameter(help="The data of the signal, as JSON. It becomes the result of the step. [null]"),
    ] = None,
    key: Annotated[
        str | None, Parameter(help="A unique key: a second signal with it changes nothing.")
    ] = None,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Send a signal to an execution. A signal for which no step waits yet is kept."""
    carried = None if data is None else _carried(data)
    answer = run_async(_signalled(where, execution_id, name, carried, key, reason))
    if json:
        print_json(answer)
    elif not answer["created"]:
        say(f"execution {execution_id} has received a signal with this key already: nothing new was sent")
    elif reached := answer["delivered_to"]:
        say(f"execution {execution_id}: {_step(reached)} has got signal {name}")
    else:
        say(f"execution {execution_id}: nothing waits for signal {name} yet; it is kept")
        if not answer.get("expected", True):
            say(f"warning: {_unexpected(name, answer.get('names') or [])}", stream=sys.stderr)


def _unexpected(name: str, names: Sequence[str]) -> str:
    """Returns the warning that no step will take the signal. `names` are the signals for which steps wait."""
    if not names:
        return "no step of its workflow waits for a signal"
    return f"no step of its workflow waits for a signal `{shorten(name)}`{suggest_or_list(name, names)}"


def _carried(data: str) -> Any:
    try:
        return parse_json(data, "--data")
    except UsageError as error:
        raise UsageError(error.message, remedy="text needs quotes of its own: --data '\"text\"'") from None


async def _signalled(
    where: TargetFlags, execution_id: int, name: str, data: Any, key: str | None, reason: str | None
) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.signal(execution_id, name, data=data, key=key, reason=reason)


def approve(
    execution_id: ExecutionId,
    step: WaitingStep,
    /,
    *,
    item: Item = None,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Approve a step that waits for an approval."""
    _decide(where, execution_id, step, item, reason, approved=True, json=json)


def reject(
    execution_id: ExecutionId,
    step: WaitingStep,
    /,
    *,
    item: Item = None,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Reject a step that waits for an approval. It fails with the reason `rejected`."""
    _decide(where, execution_id, step, item, reason, approved=False, json=json)


def _decide(
    where: TargetFlags,
    execution_id: int,
    step: str,
    item: int | None,
    reason: str | None,
    *,
    approved: bool,
    json: bool,
) -> None:
    if item is not None and item < 0:
        raise UsageError(f"--item {item}: items are counted from 0")
    answer = run_async(_decided(where, execution_id, step, item, reason, approved=approved))
    if json:
        print_json(answer)
    else:
        say(f"execution {execution_id}: {_step(answer)} is {'approved' if approved else 'rejected'}")


async def _decided(
    where: TargetFlags, execution_id: int, step: str, item: int | None, reason: str | None, *, approved: bool
) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.decide_approval(execution_id, step, approved=approved, item=item, reason=reason)


def _step(reached: dict[str, Any]) -> str:
    item = "" if reached.get("item") is None else f", item {reached['item']},"
    return f"step {reached['step']}{item}"
