"""Prints the events of an execution, and explains the decisions on its retries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import to_builtins

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import one_line, print_json, printable, say, say_wrapped, show
from tenax.model.execution_views import Event


def events(
    execution_id: ExecutionId,
    /,
    *,
    after: Annotated[int, Parameter(help="Only events after this sequence number.")] = 0,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Print the events of an execution, in their order."""
    # The table needs all events, since earlier ones tell how many attempts counted.
    found = run_async(_events(where, execution_id, after if json else 0))
    if json:
        print_json(to_builtins(found))
    elif any(event.seq > after for event in found):
        show(_event_table(found, after))
    else:
        say("no events")


async def _events(where: TargetFlags, execution_id: int, after: int) -> Sequence[Event]:
    async with open_backend(where.settings()) as backend:
        return await backend.events(execution_id, after=after)


def _event_table(found: Sequence[Event], after: int) -> Any:
    from rich.text import Text

    from tenax.cli.render.event_lines import EventWording
    from tenax.cli.render.table import Column, RankedTable

    with_items = any(event.item is not None for event in found)
    columns = (
        Column("seq", right=True),
        Column("at", rank=1),
        Column("type"),
        Column("step", rank=4, least=8),
        *([Column("item", rank=3, right=True)] if with_items else []),
        Column("attempt", rank=2, right=True),
        Column("what", rank=5, least=24, wrapped=True),
    )
    rows = []
    wording = EventWording()
    for event in found:
        words = one_line(wording.words(event))
        if event.seq <= after:
            continue
        item, attempt = ("" if number is None else str(number) for number in (event.item, event.attempt))
        cells = (str(event.seq), event.at, event.type, event.step or "")
        rows.append([*map(Text, (*cells, *([item] if with_items else []), attempt, words))])
    return RankedTable(columns, rows)


def explain(
    execution_id: ExecutionId,
    /,
    *,
    step: Annotated[str | None, Parameter(help="Only the decisions on this step.")] = None,
    item: Annotated[
        int | None,
        Parameter(help="Only the decisions on this item, in every fan-out if --step is not given."),
    ] = None,
    attempt: Annotated[int | None, Parameter(help="Only the decision on this attempt.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Explain why an attempt was retried or not."""
    found = run_async(_explained(where, execution_id, step, item, attempt))
    if json:
        print_json(found)
    elif found:
        say_wrapped("\n\n".join(_explanations(where, execution_id, found)))
    else:
        say("no attempt has failed: there is nothing to explain")


def _explanations(where: TargetFlags, execution_id: int, found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yields the explanations. Items that succeeded at once need none and may be thousands, so they are only counted."""
    plain = 0
    for one in found:
        if one.get("item") is not None and "checks" not in one["decision"]:
            plain += 1
        else:
            yield _explanation(where, execution_id, one)
    if plain:
        yield f"{plain:,} item{'s' if plain != 1 else ''} succeeded at once; there was nothing to decide."


def _explanation(where: TargetFlags, execution_id: int, one: dict[str, Any]) -> str:
    from tenax.cli.render.evidence import last_lines

    which: list[object] = ["--step", one["step"]]
    if not one.get("compensation"):
        which += [] if one.get("item") is None else ["--item", one["item"]]
        which += ["--attempt", one["attempt"]]
    whole = where.command("show", execution_id, *which)
    evidence = last_lines(one["failure"], whole=whole) if one["failure"] else []
    if evidence:
        evidence.insert(0, "What it left behind:")
    return "\n".join([printable(one["text"]), *evidence])


async def _explained(
    where: TargetFlags, execution_id: int, step: str | None, item: int | None, attempt: int | None
) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.explain(execution_id, step=step, attempt=attempt, item=item))
