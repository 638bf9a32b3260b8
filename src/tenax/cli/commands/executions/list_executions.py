"""Lists executions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import ListFilter, check_id, run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.since import parse_since
from tenax.cli.output import new_table, one_line, print_json, printable, say, to_the_second
from tenax.cli.output import show as show_
from tenax.errors import UsageError

Status = Literal["running", "paused", "completed", "failed", "cancelled"]
Compensation = Literal["running", "completed", "failed", "cancelled"]
MAX_LISTED = 500


def list_(
    *,
    status: Annotated[
        tuple[Status, ...], Parameter(help="Only executions with this status. Repeatable.")
    ] = (),
    workflow: Annotated[str | None, Parameter(help="Only executions of the workflow with this name.")] = None,
    since: Annotated[
        str | None,
        Parameter(
            help="Only executions started since then: a duration back from now (2h) or a time (RFC 3339)."
        ),
    ] = None,
    before: Annotated[
        int | None, Parameter(help="Only executions with a smaller number. For the next page.")
    ] = None,
    limit: Annotated[int, Parameter(help=f"The number of executions to list, up to {MAX_LISTED}. [50]")] = 50,
    top: Annotated[bool, Parameter(help="Leave out children, which other executions started.")] = False,
    compensation: Annotated[
        Compensation | None,
        Parameter(help="Only executions whose compensations have this status. `failed` needs a person."),
    ] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List executions, the newest first."""
    if not 1 <= limit <= MAX_LISTED:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MAX_LISTED}")
    if before is not None:
        check_id(before)
    wanted = ListFilter(status, workflow, parse_since(since), before, limit, top, compensation)
    found = run_async(_listed(where, wanted))
    if json:
        print_json(found)
    elif found:
        show_(_list_table(found), *_failed_words(found, where))
    else:
        say("no executions")


async def _listed(where: TargetFlags, wanted: ListFilter) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.list(wanted)


def _list_table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    from tenax.cli.render.styles import STYLES

    table = new_table("id", "workflow", "status", "started", "now", "last error", right=("id",))
    for row in found:
        waiting, failure = row["waiting"] or {}, row["failure"] or {}
        workflow = Text(one_line(row["workflow"]))
        if row.get("parent"):
            workflow.append(f" (child of {row['parent']})", style="dim")
        status = Text(row["status"], style=STYLES.get(row["status"], ""))
        if row.get("compensation"):
            status.append(f" (compensation {row['compensation']})", style=STYLES.get(row["compensation"], ""))
        error = one_line(failure.get("message") or waiting.get("last_error") or "", 100)
        doing = _doing(waiting) if waiting else ""
        started = Text(to_the_second(row["created_at"]))
        table.add_row(Text(str(row["id"])), workflow, status, started, Text(doing), Text(error))
    return table


def _failed_words(found: Sequence[dict[str, Any]], where: TargetFlags) -> Sequence[Any]:
    """Returns the command that shows why executions failed, if some of the list did."""
    from rich.text import Text

    if all(row["status"] != "failed" for row in found):
        return ()
    return Text(), Text(f"failures by cause: {where.command('dead-letters', 'groups')}", style="dim")


def _doing(item: dict[str, Any]) -> str:
    """Returns what a work item does, or what it waits for."""
    from tenax.cli.render.event_lines import attempt_of, duration, waiting_words

    if awaiting := item.get("awaiting"):
        words = waiting_words({**awaiting, "deadline_at": None}, child=awaiting.get("child"))
        return printable(f"{item['step']}: {words}")
    which = "" if item.get("item") is None else f"[{item['item']}]"
    doing = f"{item['step']}{which} {item['state']}"
    if item.get("compensates"):
        waits = "" if item["state"] == "running" else f" ({item['state']})"
        doing = f"undoing {item['step']}{waits}"
    if item["attempt"]:
        counted = item["counted"] + (item["state"] == "running")
        doing += f", attempt {attempt_of(item['attempt'], item['max_attempts'], counted)}"
    if (due_in := item.get("due_in")) is not None:
        doing += f", retry in {duration(due_in)}" if due_in else ", retry due"
    return f"{doing}{_why_blocked(item)}"


def _why_blocked(item: dict[str, Any]) -> str:
    """Returns why an item does not go on, to be added to its state."""
    from tenax.cli.render.why_blocked import poison_words

    if item["state"] == "held" and item.get("lost_by"):
        return f": {poison_words(item['lost_by'])}"
    why = item.get("unserved") or item.get("limited")
    return f": {one_line(why['reason'])}" if why else ""
