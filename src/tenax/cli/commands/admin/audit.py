"""Prints what people did: to executions, workers, queues, workflows, packs, tokens and filters."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.since import parse_since
from tenax.cli.output import print_json, say, show
from tenax.drawing.text_lines import one_line, to_the_second
from tenax.model.events.audit import AuditFilter, read_target

_TIME = "a duration back from now (2h) or a time (RFC 3339)"


def audit(
    *,
    actor: Annotated[str | None, Parameter(help="Only actions of this actor.")] = None,
    action: Annotated[str | None, Parameter(help="Only this action, such as cancel or queue_pause.")] = None,
    target: Annotated[
        str | None,
        Parameter(
            help="Only actions on a kind of target (queue), or on one of them (queue:mails, execution:17)."
        ),
    ] = None,
    since: Annotated[str | None, Parameter(help=f"Only actions since then: {_TIME}.")] = None,
    until: Annotated[str | None, Parameter(help=f"Only actions before then: {_TIME}.")] = None,
    before: Annotated[int | None, Parameter(help="Only entries before this one, for the next page.")] = None,
    limit: Annotated[int, Parameter(help="The largest number of entries. [50]")] = 50,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List who did what, to what, when and why, the newest first."""
    kind, name = read_target(target)
    wanted = AuditFilter(
        actor=actor,
        action=action,
        kind=kind,
        target=name,
        since=parse_since(since),
        until=parse_since(until, flag="--until"),
    )
    found = run_async(_listed(where, wanted, before, limit))
    if json:
        print_json(found)
    elif found:
        show(_table(found))
        if len(found) == limit:
            say(f"older ones: {where.command('audit', '--before', str(found[-1]['id']))}")
    else:
        say("no such action is recorded")


async def _listed(
    where: TargetFlags, wanted: AuditFilter, before: int | None, limit: int
) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.audit(wanted, before=before, limit=limit))


def _table(found: list[dict[str, Any]]) -> Any:
    from tenax.cli.render.table import Column, RankedTable

    columns = (
        Column("id", rank=1),
        Column("at", rank=2),
        Column("actor", rank=2, least=8),
        Column("action"),
        Column("target", rank=3, least=12),
        Column("reason", rank=1, least=12, wrapped=True),
    )
    rows = [
        (
            str(one["id"]),
            to_the_second(one["at"]),
            one_line(one["actor"]),
            one_line(one["action"]),
            _target(one),
            one_line(one["reason"] or "-", 1000),
        )
        for one in found
    ]
    return RankedTable(columns, rows)


def _target(one: dict[str, Any]) -> str:
    """Returns the target with its step and its item: `execution 17/fetch[3]`."""
    if one["target"] is None:
        return f"{len(one['data'].get('letters', []))} dead letters"
    kind = "dead letter" if one["kind"] == "dead_letters" else one["kind"]
    item = "" if one["item"] is None else f"[{one['item']}]"
    place = "" if one["step"] is None else f"/{one['step']}{item}"
    name = one["data"].get("name")
    return one_line(f"{kind} {one['target']}{place}{f' ({name})' if name else ''}", 200)
