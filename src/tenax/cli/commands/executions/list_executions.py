"""Lists executions."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import ListFilter, check_id, run_async
from tenax.cli.flags import DEFAULT_TARGET, FilterText, Json, TargetFlags
from tenax.cli.input.filters import check_filter
from tenax.cli.input.since import parse_since
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

Status = Literal["running", "paused", "completed", "failed", "cancelled"]
Compensation = Literal["running", "completed", "failed", "cancelled"]
MAX_LISTED = 500
NOTHING = "no executions"


def list_(
    *,
    filter: FilterText = "",  # noqa: A002 -- the flag's name
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
    watch: Annotated[bool, Parameter(help="Keep the list up to date until Ctrl-C.")] = False,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List executions, the newest first.

    The flags up to --compensation are short forms of terms of a filter.
    """
    if watch and json:
        raise UsageError(
            "--watch and --json exclude each other", remedy="call `tenax list --json` as often as you like"
        )
    if not 1 <= limit <= MAX_LISTED:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MAX_LISTED}")
    if before is not None:
        check_id(before)
    check_filter(filter)
    wanted = ListFilter(status, workflow, parse_since(since), before, limit, top, compensation, filter)
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            run_async(_watched(where, wanted))
        return
    found = run_async(_listed(where, wanted))
    if json:
        print_json(found)
    elif found:
        show_(_drawn(found), *_failed_words(found, where))
    else:
        say(NOTHING)


async def _listed(where: TargetFlags, wanted: ListFilter) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.list(wanted)


def _drawn(found: Sequence[dict[str, Any]]) -> RenderableType:
    from rich.text import Text

    from tenax.cli.render.execution_table import execution_table

    return execution_table(found) if found else Text(NOTHING)


def _failed_words(found: Sequence[dict[str, Any]], where: TargetFlags) -> Sequence[Any]:
    """Returns the command that shows why executions failed, if some of the list did."""
    from rich.text import Text

    if all(row["status"] != "failed" for row in found):
        return ()
    return Text(), Text(f"failures by cause: {where.command('dead-letters', 'groups')}", style="dim")


async def _watched(where: TargetFlags, wanted: ListFilter) -> None:
    from tenax.cli.render.execution_table import change_key
    from tenax.cli.render.watch import watch

    async with open_backend(where.settings()) as backend:
        await watch(lambda: backend.list(wanted), _drawn, change_key)
