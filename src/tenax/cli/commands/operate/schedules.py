"""Lists, shows, creates, pauses, resumes, runs and deletes schedules, and prints their next ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Inputs, Json, TargetFlags
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.errors import UsageError
from tenax.model.source.findings import shorten, suggest

schedules = App(name="schedules", help="List schedules, or show, create, pause, resume, run or delete one.")
_WORDS = ("list", "show", "create", "pause", "resume", "run-now", "next", "delete")
_MOST_TICKS = 1000

ScheduleName = Annotated[str, Parameter(name="NAME", help="The name of a schedule.")]
Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ScheduleFlags:
    """Describes a schedule, in the keys of a workflow file."""

    cron: Annotated[str | None, Parameter(help="A cron expression, such as '0 3 * * *'.")] = None
    every: Annotated[str | None, Parameter(help="An interval, such as 10m.")] = None
    at: Annotated[tuple[str, ...], Parameter(help="A point in time. Repeatable.")] = ()
    timezone: Annotated[str | None, Parameter(help="The zone of its times; UTC by default.")] = None
    overlap: Annotated[
        str | None, Parameter(help="While the last execution runs: skip (default), queue, cancel or allow.")
    ] = None
    catch_up: Annotated[int | None, Parameter(help="Missed ticks that are made up for; 1 by default.")] = None
    jitter: Annotated[str | None, Parameter(help="The longest random delay of a tick.")] = None
    pause_after_failures: Annotated[
        int | None, Parameter(help="Pause after this many failures in a row.")
    ] = None
    start: Annotated[str | None, Parameter(help="No tick comes before this time.")] = None
    end: Annotated[str | None, Parameter(help="No tick comes after this time.")] = None

    def body(self) -> dict[str, Any]:
        """Returns the keys that were given."""
        names = ("cron", "every", "timezone", "overlap", "catch_up", "jitter", "pause_after_failures")
        given: dict[str, Any] = {name: getattr(self, name) for name in (*names, "start", "end")}
        given["at"] = list(self.at) or None
        return {name: value for name, value in given.items() if value is not None}


NO_FLAGS = ScheduleFlags()


@schedules.default
def list_(
    *words: Annotated[str, Parameter(show=False)], json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """List the schedules. `tenax schedules list` does the same."""
    if words and words != ("list",):
        raise UsageError(f"unknown command `schedules {shorten(words[0])}`{suggest(words[0], _WORDS)}")
    found = run_async(_listed(where))
    if json:
        print_json(found)
    elif found:
        from tenax.cli.render.operators.schedule_page import schedule_table

        show_(schedule_table(found))
    else:
        create = where.command("schedules", "create", "NAME", "--workflow", "WORKFLOW", "--cron", "0 3 * * *")
        say(f"no schedules\n  declare one in a workflow file (`schedule`), or create one: {create}")


async def _listed(where: TargetFlags) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.schedules())


@schedules.command
def show(name: ScheduleName, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Show a schedule: its next ticks, and what it did last."""
    found = run_async(_got(where, name))
    if json:
        print_json(found)
        return
    from tenax.cli.render.operators.schedule_page import render_schedule

    show_(render_schedule(found, where))


async def _got(where: TargetFlags, name: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.schedule(name)


@schedules.command
def create(
    name: ScheduleName,
    /,
    *,
    workflow: Annotated[
        str | None, Parameter(help="The stored workflow that it starts; by default the one of its own name.")
    ] = None,
    schedule: ScheduleFlags = NO_FLAGS,
    inputs: Inputs = (),
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Create a schedule of a stored workflow, or replace it. A workflow file declares its own by `schedule`."""
    from tenax.cli.input.inputs import parse_inputs
    from tenax.model.parse.keys.schedule_keys import read_schedule

    body = schedule.body()
    if inputs:
        body["input"] = parse_inputs(inputs)
    read_schedule(body)  # reports mistakes before a server is asked
    answer = run_async(_created(where, name, workflow or name, body))
    if json:
        print_json(answer)
        return
    coming = f"; its next tick is {_local(answer['next_at'], body)}" if answer["next_at"] else ""
    say(f"schedule {name} is {'created' if answer['created'] else 'replaced'}{coming}")


async def _created(where: TargetFlags, name: str, workflow: str, body: Mapping[str, Any]) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.create_schedule(name, body, workflow=workflow)


@schedules.command
def pause(
    name: ScheduleName,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Pause a schedule: no tick starts an execution until it is resumed, and none of them is made up for."""
    changed = run_async(_paused(where, name, reason, paused=True))
    if json:
        print_json({"name": name, "paused": True, "changed": changed})
        return
    words = "is paused" if changed else "was paused already"
    say(f"schedule {name} {words}\n  let it go on: {where.command('schedules', 'resume', name)}")


@schedules.command
def resume(
    name: ScheduleName,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Resume a paused schedule from now on."""
    changed = run_async(_paused(where, name, reason, paused=False))
    if json:
        print_json({"name": name, "paused": False, "changed": changed})
    else:
        say(f"schedule {name} {'goes on' if changed else 'was not paused'}")


async def _paused(where: TargetFlags, name: str, reason: str | None, *, paused: bool) -> bool:
    async with open_backend(where.settings()) as backend:
        verb = backend.pause_schedule if paused else backend.resume_schedule
        return await verb(name, reason=reason)


@schedules.command(name="run-now")
def run_now(
    name: ScheduleName,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Start an execution of a schedule now. Its ticks stay as they are."""
    number = run_async(_run(where, name, reason))
    if json:
        print_json({"name": name, "execution_id": number})
    else:
        say(f"execution {number} is submitted\n  follow it: {where.command('show', number, '--follow')}")


async def _run(where: TargetFlags, name: str, reason: str | None) -> int:
    async with open_backend(where.settings()) as backend:
        return await backend.run_schedule(name, reason=reason)


@schedules.command(name="next")
def next_(
    what: Annotated[
        str,
        Parameter(
            name="NAME|FILE|CRON",
            help="A schedule, a workflow file that declares one, or a cron expression in quotes.",
        ),
    ],
    /,
    *,
    count: Annotated[int, Parameter(name=("--count", "-n"), help="How many; 10 by default.")] = 10,
    timezone: Annotated[str | None, Parameter(help="The zone of a cron expression; UTC by default.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Print the next ticks of a schedule. For a file or an expression this needs no server."""
    if not 1 <= count <= _MOST_TICKS:
        raise UsageError(f"--count {count}: expected 1 to {_MOST_TICKS}")
    from tenax.cli.commands.operate.local_ticks import local_schedule, ticks_from_now

    given = local_schedule(what, timezone)
    if given is not None:
        body, ticks = given.as_dict(), ticks_from_now(given, count)
    else:
        body, ticks = run_async(_ticks(where, what, count))
    if json:
        print_json(ticks)
    elif ticks:
        say("\n".join(_local(tick, body) for tick in ticks))
    else:
        say("no tick comes any more")


async def _ticks(where: TargetFlags, name: str, count: int) -> tuple[dict[str, Any], list[str]]:
    async with open_backend(where.settings()) as backend:
        found = await backend.schedule(name)
        return found["schedule"], list(await backend.next_ticks(name, count))


@schedules.command
def delete(name: ScheduleName, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Delete a schedule that was created by hand. Its executions stay."""
    deleted = run_async(_deleted(where, name))
    if json:
        print_json(deleted)
    else:
        say(f"schedule {name} is deleted")


async def _deleted(where: TargetFlags, name: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.delete_schedule(name)


def _local(tick: str, schedule: Mapping[str, Any]) -> str:
    from tenax.drawing.schedule_words import local_time

    return local_time(tick, schedule)
