"""Acts on executions, steps and work items: retry, reset, resolve, complete, fail and reschedule."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async, start_warning
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Inputs, Json, TargetFlags
from tenax.cli.input.inputs import parse_inputs, parse_policy, parse_result
from tenax.cli.output import print_json, say
from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import UsageError
from tenax.policy.operator_actions import NEED_REASON

Step = Annotated[str | None, Parameter(help="The name of a step.")]
Item = Annotated[int | None, Parameter(help="The number of an item of the step's fan-out, from 0.")]
Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]
Why = Annotated[str | None, Parameter(help="The reason, which is recorded. It is required.")]


def retry(
    execution_id: ExecutionId,
    /,
    *,
    step: Step = None,
    item: Item = None,
    new: Annotated[
        bool, Parameter(help="Run all of a finished execution again, as a new one.", negative=())
    ] = False,
    inputs: Inputs = (),
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Run waiting retries now. A failed execution runs again from what failed, with one more attempt for it: what has
    finished stays. --new starts a new execution that runs everything, linked to this one, with its inputs changed by
    --input.
    """
    if not new:
        if inputs:
            raise UsageError("--input is for a new execution", remedy="give --new as well")
        _act(ActionRequest("retry", step, item, reason), execution_id, json=json, where=where)
        return
    if step is not None or item is not None:
        raise UsageError("--new runs all of the execution", remedy="leave --step and --item out, or --new")
    answer, warning = run_async(_run_anew(where, execution_id, parse_inputs(inputs), reason))
    if json:
        print_json(answer)
        return
    number = answer["id"]
    lines = [
        f"execution {number} is submitted: a retry of {execution_id}",
        f"follow it: {where.command('show', number, '--follow')}",
    ]
    say("\n  ".join([*lines, *([warning] if warning else ())]))


async def _run_anew(
    where: TargetFlags, execution_id: int, inputs: dict[str, Any], reason: str | None
) -> tuple[dict[str, Any], str | None]:
    async with open_backend(where.settings()) as backend:
        answer = await backend.run_anew(execution_id, inputs=inputs or None, reason=reason)
        return answer, await start_warning(backend, answer["id"], where)


def reset(
    execution_id: ExecutionId,
    /,
    *,
    step: Step = None,
    item: Item = None,
    reason: Why = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Reset the count of attempts, and start the time of give_up_after anew. What failed runs again. Attempt numbers and cost
    go on.
    """
    _act(ActionRequest("reset", step, item, reason), execution_id, json=json, where=where)


def resolve(
    execution_id: ExecutionId,
    /,
    *,
    step: Step = None,
    item: Item = None,
    reason: Why = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Mark a step, or an item of its fan-out, as done by hand. Its result is null, and what depends on it goes on. An
    attempt that runs is revoked.
    """
    _act(ActionRequest("resolve", step, item, reason), execution_id, json=json, where=where)


def complete(
    execution_id: ExecutionId,
    /,
    *,
    result: Annotated[
        str | None, Parameter(help="The result: JSON if it parses, else text. It is required.")
    ] = None,
    step: Step = None,
    item: Item = None,
    reason: Why = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Complete a step, or an item of its fan-out, with a result. What depends on it goes on. An attempt that runs is
    revoked.
    """
    given = result is not None
    asked = ActionRequest(
        "complete", step, item, reason, None if result is None else parse_result(result), has_result=given
    )
    _act(asked, execution_id, json=json, where=where)


def fail(
    execution_id: ExecutionId,
    /,
    *,
    step: Step = None,
    item: Item = None,
    reason: Why = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Fail a step, or an item of its fan-out, without a retry. Its on_failure applies. An attempt that runs is revoked."""
    _act(ActionRequest("fail", step, item, reason), execution_id, json=json, where=where)


def reschedule(
    execution_id: ExecutionId,
    /,
    *,
    policy: Annotated[
        str | None, Parameter(help="The fields of the policy that change, as JSON. It is required.")
    ] = None,
    step: Step = None,
    item: Item = None,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Give waiting retries another policy, and compute their due times again."""
    changes = None if policy is None else parse_policy(policy)
    asked = ActionRequest("reschedule", step, item, reason, policy=changes)
    _act(asked, execution_id, json=json, where=where)


def _act(asked: ActionRequest, execution_id: int, *, json: bool, where: TargetFlags) -> None:
    _check_flags(asked)
    answer = run_async(_acted(where, execution_id, asked))
    if json:
        print_json(answer)
    else:
        say("\n  ".join(_lines(answer, asked, where)))


def _check_flags(asked: ActionRequest) -> None:
    """Refuses a command without a flag that it needs. The API refuses it too, in its own words."""
    if asked.item is not None and asked.step is None:
        raise UsageError("--item is the number of an item of a step's fan-out", remedy="give --step STEP too")
    if asked.action == "complete" and not asked.has_result:
        raise UsageError(
            "complete needs the result that the step is to have",
            remedy="give it: --result JSON; without a result, use resolve",
        )
    if asked.action == "reschedule" and asked.policy is None:
        raise UsageError(
            "reschedule needs the fields of the policy that change",
            remedy="""give them: --policy '{"initial_delay": "10s"}'""",
        )
    if asked.action in NEED_REASON and not (asked.reason or "").strip():
        raise UsageError(
            f"{asked.action} changes a verdict: it needs a reason, which is recorded",
            remedy="give it: --reason WHY",
        )


async def _acted(where: TargetFlags, execution_id: int, asked: ActionRequest) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.act(execution_id, asked)


_DONE = {
    "retry": "will be tried again now",
    "reset": "starts anew: nothing of it is counted any more",
    "resolve": "is done by hand",
    "complete": "is complete",
    "fail": "has failed",
    "reschedule": "waits by the new policy",
}


def _lines(answer: dict[str, Any], asked: ActionRequest, where: TargetFlags) -> list[str]:
    number, steps, items = answer["id"], answer["steps"], answer["items"]
    what = ", ".join(steps) or "what its failure had cut short"
    if asked.item is not None:
        what = f"{asked.step}[{asked.item}]"
    many = f" ({items:,} items)" if items > len(steps) else ""
    lines = [f"execution {number}: {what}{many} {_DONE[answer['action']]}"]
    if number in answer["reopened"]:
        lines.append(f"it had failed, and is {answer['status']} now")
    others = [str(id_) for id_ in answer["reopened"] if id_ != number]
    if others:
        lines.append(f"with it run again: {', '.join(others)}")
    match answer["status"]:
        case "running":
            lines.append(f"follow it: {where.command('show', number, '--follow')}")
        case "paused":
            lines.append(
                f"it is paused, and starts nothing before it is resumed: {where.command('resume', number)}"
            )
        case status:
            lines.append(f"the execution is {status}")
    return lines
