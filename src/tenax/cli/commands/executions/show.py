"""Shows an execution."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import to_builtins

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import Backend, no_worker_warning, run_async
from tenax.cli.errors import FAILED
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import console, print_json
from tenax.cli.output import show as show_
from tenax.errors import NotFound, UsageError
from tenax.model.source.findings import shorten, suggest


def show(
    execution_id: ExecutionId,
    /,
    *,
    follow: Annotated[
        bool, Parameter(help="Wait until it has ended; exit code 1 if it failed or was cancelled.")
    ] = False,
    step: Annotated[
        str | None, Parameter(help="Only this step, with all details of its failed attempts.")
    ] = None,
    item: Annotated[int | None, Parameter(help="Only this item of the step's fan-out, from 0.")] = None,
    attempt: Annotated[int | None, Parameter(help="Only this attempt of the step.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> int:
    """Show an execution with its steps, their attempts and its result.

    The exit code is 0 for any status. With --follow it is 1 if the execution failed or was cancelled.
    """
    for flag, value in (("--attempt", attempt), ("--item", item)):
        if value is not None and step is None:
            raise UsageError(f"{flag} needs a step", remedy="name the step: --step STEP")
    execution = run_async(_shown(where, execution_id, step, item, follow=follow, quiet=json))
    if step is not None:
        execution = _narrowed(execution, step, attempt)
    if json:
        print_json(execution)
    else:
        from tenax.cli.render.timeline import render_execution, render_step

        shown = render_execution(execution, where) if step is None else render_step(execution, step, where)
        show_(shown)
    return FAILED if follow and execution["status"] != "completed" else 0


async def _shown(
    where: TargetFlags, execution_id: int, step: str | None, item: int | None, *, follow: bool, quiet: bool
) -> dict[str, Any]:
    async with open_backend(where.settings(), follow=follow) as backend:
        if follow:
            execution = await _followed(backend, where, execution_id, quiet=quiet)
        else:
            execution = await backend.get(execution_id)
        if step is not None and item is not None:
            return await _of_item(backend, where, execution, step, item)
        return await with_details(backend, execution)


async def _followed(
    backend: Backend, where: TargetFlags, execution_id: int, *, quiet: bool
) -> dict[str, Any]:
    from tenax.cli.backend.follow import follow
    from tenax.cli.render.live import view_for

    view = view_for(console(stderr=quiet), where)
    return await follow(
        backend, execution_id, view, warning=lambda: _why_blocked(backend, execution_id, where)
    )


async def _why_blocked(backend: Backend, execution_id: int, where: TargetFlags) -> str | None:
    """Returns why an execution does not go on: there is no worker, no able worker, or a limit is reached. None if it does."""
    if nobody := await no_worker_warning(backend, execution_id, where):
        return nobody
    from tenax.cli.render.why_blocked import notes

    found = notes(await backend.get(execution_id), where)
    return "\n".join(f"{why}\n  {remedy}" if remedy else why for why, remedy in found) or None


async def with_details(backend: Backend, execution: dict[str, Any]) -> dict[str, Any]:
    """Adds what `get` leaves out: the `listed_items` of fan-outs, the `tree`, and `paused_by`.

    A small fan-out has all of its items, and a large one only its failed and held items.
    """
    from tenax.cli.render.family import has_children
    from tenax.cli.render.fan_outs import SHOWN_ITEMS, is_large

    for name, step in execution["steps"].items():
        if not step.get("items"):
            continue
        states = ["failed", "held"] if is_large(step["items"]) else []
        step["listed_items"] = []
        if not states or any(step["items"].get(state) for state in states):
            found = await backend.items(execution["id"], name, states=states, after=-1, limit=SHOWN_ITEMS)
            step["listed_items"] = list(found)
    execution["tree"] = await backend.tree(execution["id"]) if has_children(execution) else None
    execution["paused_by"] = _paused_by(execution)
    return execution


def _paused_by(execution: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the last pause if the execution is paused, else None."""
    if execution["status"] != "paused":
        return None
    acts = reversed(execution.get("operator_actions", ()))  # an older server does not tell
    return next((one for one in acts if one["action"] == "pause"), None)


async def _of_item(
    backend: Backend, where: TargetFlags, execution: dict[str, Any], step: str, item: int
) -> dict[str, Any]:
    """Returns the execution with one step that has the state of one item, made from its events."""
    from tenax.model.state.execution import fold

    _check_step(execution, step)
    state = fold(event for event in await backend.events(execution["id"]) if event.step == step)
    found = state.steps[step].items.get(item) if step in state.steps else None
    if found is None:
        raise NotFound(
            f"step {step} of execution {execution['id']} has no item {item}, or it has not begun",
            remedy=where.command("items", execution["id"], step),
        )
    known = execution["steps"][step]
    shown = known | to_builtins(found.shown())
    shown |= {"item": item, "items": None, "compensation": None, "children": None}
    shown["max_attempts"] = found.max_attempts or known["max_attempts"]
    shown["held"] = (
        {**known["held"], "item": item, "items": 1} if found.status == "held" and known.get("held") else None
    )
    for name in ("unserved", "limited"):
        shown[name] = known.get(name) if found.status in ("queued", "retrying") else None
    return {**execution, "steps": {step: shown}}


def _check_step(execution: dict[str, Any], name: str) -> None:
    if name not in execution["steps"]:
        known = list(execution["steps"])
        raise NotFound(f"execution {execution['id']} has no step `{shorten(name)}`{suggest(name, known)}")


def _narrowed(execution: dict[str, Any], name: str, attempt: int | None) -> dict[str, Any]:
    """Returns the execution with one step only, and with all attempts of it or one."""
    _check_step(execution, name)
    step = execution["steps"][name]
    attempts = [one for one in step["attempts"] if attempt in (None, one["attempt"])]
    if attempt is not None and not attempts:
        raise NotFound(f"step {name} of execution {execution['id']} has no attempt {attempt}")
    return {**execution, "steps": {name: {**step, "attempts": attempts}}}
