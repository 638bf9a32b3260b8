"""Shows how often retries succeeded, and the time that they cost."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.since import parse_since
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.model.metrics.figures import By

_TIME = "a duration back from now (2h) or a time (RFC 3339)"


def stats(
    *,
    since: Annotated[str | None, Parameter(help=f"Only what ended since then: {_TIME}. [1d]")] = None,
    until: Annotated[str | None, Parameter(help=f"Only what ended before: {_TIME}. [now]")] = None,
    by: Annotated[By, Parameter(help="What to group retries by. [reason]")] = "reason",
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Show how often each attempt of a retry succeeded, and the time that it cost."""
    start, end = parse_since(since), parse_since(until, flag="--until")
    found = run_async(_read(where, by, start, end))
    if json:
        print_json(found)
        return
    from tenax.cli.render.operators.figures import counted_words, stats_plot, stats_table

    if not found["groups"]:
        say(f"no failures from {found['since']} to {found['until']}")
    else:
        show_(stats_table(found), *stats_plot(found))
    say(counted_words(found["counted_until"]))


async def _read(where: TargetFlags, by: By, since: datetime | None, until: datetime | None) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.stats(by=by, since=since, until=until)
