"""Shows the forms of actions on an execution, its steps and items, and carries the actions out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.engine import Engine
from tenax.engine.operate.operator_action import MAX_POLICY, ActionRequest
from tenax.errors import NotFound, UsageError
from tenax.model.source.findings import suggest
from tenax.model.source.json_source import parse_json
from tenax.model.source.yaml_source import read_source
from tenax.ui.action_words import FORMS, acted_words, answered_words, signalled_words, target_words
from tenax.ui.answers import actor, answer_dialog, answer_result, engine, require_operator
from tenax.ui.forms import read_form, required
from tenax.ui.pages.acting.frame import ExecutionId, ItemNumber, StepName
from tenax.ui.words import query

PATH = "/{execution_id}/actions/{action}"
TEMPLATE = "executions/action.html"
router = APIRouter(prefix="/executions")


@router.get(PATH)
async def form(
    request: Request,
    execution_id: ExecutionId,
    action: str,
    step: StepName = None,
    item: ItemNumber = None,
    name: str = "",
) -> Response:
    """Asks for the reason, and for what else the action needs, in a dialog or on a page of its own."""
    require_operator(request)
    words = FORMS[_known(action)]
    what = target_words(execution_id, step, item)
    return answer_dialog(
        request,
        TEMPLATE,
        title=words.title.format(what),
        words=words,
        action=action,
        address=f"/executions/{execution_id}/actions/{action}{query(step=step, item=item)}",
        back=f"/executions/{execution_id}",
        signal=name,
    )


@router.post(PATH)
async def act(
    request: Request, execution_id: ExecutionId, action: str, step: StepName = None, item: ItemNumber = None
) -> Response:
    """Carries the action out, and shows what it has done."""
    _known(action)
    sent, on, who = await read_form(request), engine(request), actor(request)
    match action:
        case "approve" | "reject":
            done = await _decide(on, execution_id, action, step, item, sent, who)
        case "signal":
            done = await _signal(on, execution_id, sent, who)
        case _:
            asked = await _request_of(on, action, step, item, sent)
            done = acted_words(await on.act(execution_id, asked, actor=who))
    return answer_result(request, done, f"/executions/{execution_id}", f"To execution {execution_id}")


def _known(action: str) -> str:
    if action not in FORMS or action == "again":
        raise NotFound(f"there is no action {action[:60]!r}{suggest(action, FORMS)}")
    return action


async def _request_of(
    on: Engine, action: str, step: str | None, item: int | None, sent: Mapping[str, str]
) -> ActionRequest:
    reason = required(sent, "reason", "a reason")
    more: dict[str, Any] = {}
    if action == "complete":
        more = {
            "result": await _json(on, required(sent, "result", "the result"), "the result"),
            "has_result": True,
        }
    elif action == "reschedule":
        more = {"policy": _policy(required(sent, "policy", "the policy"))}
    return ActionRequest(action, step, item, reason, **more)


async def _decide(
    on: Engine,
    execution_id: int,
    action: str,
    step: str | None,
    item: int | None,
    sent: Mapping[str, str],
    who: str,
) -> str:
    reason = required(sent, "reason", "a reason")
    if step is None:
        raise UsageError(
            f"{action} is for a step that waits", remedy="name the step in the address: ?step=NAME"
        )
    answer = await on.decide_approval(
        execution_id, step, approved=action == "approve", item=item, actor=who, reason=reason
    )
    return answered_words(answer)


async def _signal(on: Engine, execution_id: int, sent: Mapping[str, str], who: str) -> str:
    name, reason = required(sent, "name", "the name of the signal"), required(sent, "reason", "a reason")
    text = sent.get("data", "").strip()
    data = await _json(on, text, "the data") if text else None
    answer = await on.signal(
        execution_id, name, data=data, key=sent.get("key", "").strip() or None, actor=who, reason=reason
    )
    return signalled_words(answer)


async def _json(on: Engine, text: str, what: str) -> Any:
    """Reads JSON of a form, within the bounds of requests."""
    await on.check_json(text.encode())
    return parse_json(text, what)


def _policy(text: str) -> dict[str, Any]:
    """Reads the fields of a policy, as YAML or JSON."""
    if len(text) > 2 * MAX_POLICY:
        raise UsageError(
            f"the policy is longer than {2 * MAX_POLICY:,} characters",
            remedy="give only the fields that change",
        )
    source = read_source(text, filename="policy")
    if not isinstance(source.data, dict) or source.findings:
        found = f": {source.findings[0]}" if source.findings else ""
        raise UsageError(
            f"the policy is not a mapping of fields{found}",
            remedy="one field in each line, such as initial_delay: 10s",
        )
    return source.data
