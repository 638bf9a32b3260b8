"""Measures how long a contestant worked: from the first lease to the last end, by the database's clock."""

from __future__ import annotations

from datetime import UTC, datetime

from benchmarks.arena import Round
from benchmarks.contestants import Contestant

_FIRST = "select extract(epoch from min(at)) from tenax.event where type = 'action_started' and at >= $1::timestamptz"
_EVER = datetime.min.replace(tzinfo=UTC)


async def seconds_worked(round_: Round, contestant: Contestant, executions: int, patience: float) -> float:
    """Starts the workers and waits until all jobs have ended. Returns the seconds."""
    await contestant.work(round_)
    return await seconds_until_done(round_, executions, patience)


async def seconds_until_done(
    round_: Round, executions: int, patience: float, *, since: datetime = _EVER
) -> float:
    """Returns the seconds from the next lease to the last end, if the workers are running already. All executions must complete."""
    ended = await round_.until_none_open(patience)
    completed = await round_.connection.fetchval(
        "select count(*) from tenax.execution where state = 'completed'"
    )
    assert completed == executions, f"{completed} of {executions} executions completed"
    return ended - float(await round_.connection.fetchval(_FIRST, since))
