"""Finds the ticks of a schedule in a workflow file or of an expression, without a server."""

from __future__ import annotations

from datetime import UTC, datetime

from tenax.cli.input.inputs import read_definition
from tenax.cli.input.submissions import is_stored_name
from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.parse.keys.schedule_keys import read_schedule
from tenax.model.schedule.schedule import Schedule
from tenax.model.schedule.ticks import next_ticks


def local_schedule(what: str, timezone: str | None) -> Schedule | None:
    """Returns the schedule of an expression or of a workflow file. Returns None if the text is the name of a schedule."""
    if what.startswith("@") or len(what.split()) > 1:
        return read_schedule({"cron": what, **({"timezone": timezone} if timezone else {})})
    if timezone is not None:
        raise UsageError(
            "--timezone is for a cron expression: a schedule has its own zone",
            remedy="write the expression in quotes: tenax schedules next '0 3 * * *' --timezone Europe/Zurich",
        )
    if is_stored_name(what):
        return None
    from tenax.model.parse.parse import parse_workflow

    definition = read_definition(what)
    schedule = parse_workflow(definition.text, filename=definition.filename).schedule
    if schedule is None:
        raise UsageError(f"{what} declares no schedule", remedy='add one: schedule: {cron: "0 3 * * *"}')
    return schedule


def ticks_from_now(schedule: Schedule, count: int) -> list[str]:
    return [timestamp(tick) for tick in next_ticks(schedule, datetime.now(UTC), count)]
