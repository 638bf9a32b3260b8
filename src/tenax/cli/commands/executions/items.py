"""Lists the items of a fan-out, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import one_line, print_json, say, show
from tenax.errors import UsageError

ItemStatus = Literal[
    "waiting", "queued", "running", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"
]
MAX_LISTED = 1000
_MAX_LENGTH = 160


def items(
    execution_id: ExecutionId,
    step: Annotated[str, Parameter(name="STEP", help="A step with `for_each`.")],
    /,
    *,
    status: Annotated[
        tuple[ItemStatus, ...], Parameter(help="Only items with this status. Repeatable.")
    ] = (),
    after: Annotated[int, Parameter(help="Only items after this number. For the next page.")] = -1,
    limit: Annotated[int, Parameter(help=f"The number of items to list, up to {MAX_LISTED}. [100]")] = 100,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the items of a step's fan-out, in the order of its list, from 0."""
    if not 1 <= limit <= MAX_LISTED:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MAX_LISTED}")
    if after < -1:
        raise UsageError(f"--after {after}: items are counted from 0")
    found = run_async(_found(where, execution_id, step, status, after, limit))
    if json:
        print_json(found)
        return
    if not found:
        say("no items")
        return
    show(_table(found))
    if len(found) == limit:
        chosen = [part for one in status for part in ("--status", one)]
        more = where.command("items", execution_id, step, *chosen, "--after", found[-1]["item"])
        say(f"there may be more: {more}")


async def _found(
    where: TargetFlags, execution_id: int, step: str, states: Sequence[str], after: int, limit: int
) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.items(execution_id, step, states=states, after=after, limit=limit))


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    from tenax.cli.render.event_lines import attempt_of_item
    from tenax.cli.render.table import Column, RankedTable

    columns = (
        Column("item", right=True),
        Column("status"),
        Column("attempt", rank=3),
        Column("worker", rank=1, least=8),
        Column("next attempt", rank=2),
        Column("result, error or wait", rank=4, least=21),
    )
    rows = []
    for one in found:
        number = one["attempt"]
        cells = (
            str(one["item"]),
            one["status"],
            attempt_of_item(number, one["max_attempts"]) if number else "-",
            one["worker"] or "",
            one["available_at"] or "",
            _standing(one),
        )
        rows.append([Text(cell) for cell in cells])
    return RankedTable(columns, rows)


def _standing(item: dict[str, Any]) -> str:
    """Returns the outcome of an item, or what it waits for."""
    from tenax.cli.render.event_lines import failure_words, waiting_words
    from tenax.cli.render.why_blocked import poison_words

    if item["failure"]:
        return one_line(failure_words(item["failure"]), _MAX_LENGTH)
    if waiting := item["waiting"]:
        return one_line(waiting_words(waiting, child=waiting.get("child")), _MAX_LENGTH)
    if item["status"] == "succeeded":
        return one_line(item["result"], _MAX_LENGTH)
    last = one_line(item["last_error"] or "", _MAX_LENGTH)
    if item["status"] == "held" and item.get("lost_by"):
        return f"{poison_words(item['lost_by'])}; the last: {last}"
    return last
