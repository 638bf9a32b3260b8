"""The items of a fan-out, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tenax.cli.backend import open_backend, run_async
from tenax.cli.flags import ANYWHERE, ExecutionId, Json, Where
from tenax.cli.output import one_line, print_json, say, show
from tenax.errors import UsageError

ItemStatus = Literal[
    "waiting", "queued", "running", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"
]
MOST_LISTED = 1000
_LONGEST = 160


def items(
    execution_id: ExecutionId,
    step: Annotated[str, Parameter(name="STEP", help="A step with `for_each`.")],
    /,
    *,
    status: Annotated[tuple[ItemStatus, ...], Parameter(help="Only with this status. Repeatable.")] = (),
    after: Annotated[int, Parameter(help="Only those after this item: the next page.")] = -1,
    limit: Annotated[int, Parameter(help=f"At most so many, up to {MOST_LISTED}. [100]")] = 100,
    json: Json = False,
    where: Where = ANYWHERE,
) -> None:
    """List the items of a step's fan-out, in the order of its list, from 0."""
    if not 1 <= limit <= MOST_LISTED:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MOST_LISTED}")
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
        chosen = "".join(f" --status {one}" for one in status)
        say(f"there may be more: tenax items {execution_id} {step}{chosen} --after {found[-1]['item']}")


async def _found(
    where: Where, execution_id: int, step: str, states: Sequence[str], after: int, limit: int
) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.items(execution_id, step, states=states, after=after, limit=limit))


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from tenax.cli.event_lines import attempt_of, failure_words

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("item", "status", "attempt", "worker", "next attempt", "result or error"):
        table.add_column(
            title, header_style="dim", justify="right" if title == "item" else "left", no_wrap=True
        )
    for one in found:
        number = one["attempt"]
        what = failure_words(one["failure"]) if one["failure"] else one["last_error"]
        if what is None and one["status"] == "succeeded":
            what = one["result"]
        cells = (
            str(one["item"]),
            one["status"],
            attempt_of(number, one["max_attempts"], number) if number else "-",
            one["worker"] or "",
            one["available_at"] or "",
            "" if what is None and one["status"] != "succeeded" else one_line(what, _LONGEST),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table
