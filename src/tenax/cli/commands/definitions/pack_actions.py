"""Lists and shows the actions of packs, and runs one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.inputs import parse_inputs
from tenax.cli.output import new_table, one_line, print_json, say, show
from tenax.model.durations import format_duration
from tenax.model.json_text import encode

action = App(name="action", help="List or show the actions of packs, or run one.")

Ref = Annotated[str, Parameter(name="PACK.ACTION", help="The pack and the name of the action.")]


@action.command(name="list")
def list_(
    *,
    pack: Annotated[str | None, Parameter(help="Only the actions of this pack.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the actions of the installed packs."""
    found = run_async(_listed(where, pack))
    if json:
        print_json(found)
    elif found:
        show(_table(found))
    else:
        say("no actions: `tenax pack install FOLDER` installs a pack of them")


async def _listed(where: TargetFlags, pack: str | None) -> Sequence[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.actions(pack)


@action.command(name="show")
def show_(ref: Ref, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Show an action with its parameters and its policy."""
    found = run_async(_shown(where, ref))
    if json:
        print_json(found)
        return
    version = f" (version {one_line(found['version'])})" if found["version"] else ""
    say(f"action {found['ref']}{version}")
    if found["description"]:
        say(f"  {one_line(found['description'])}")
    say(f"  {found['runtime']}: {one_line(_what_runs(found))}")
    say(f"  timeout {_timeout(found)}, {_attempts(found['max_attempts'])}")
    say(f"  content {found['hash']}")
    for name, parameter in found["parameters"].items():
        say(f"  {one_line(name)}: {_parameter_words(parameter)}")
    if not found["parameters"]:
        say("  no parameters")


async def _shown(where: TargetFlags, ref: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.action(ref)


@action.command
def run(
    ref: Ref,
    /,
    *,
    params: Annotated[
        tuple[str, ...],
        Parameter(
            name="--param",
            help="One parameter as NAME=VALUE; VALUE is JSON if it parses, else text. Repeatable.",
        ),
    ] = (),
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> int:
    """Run an action as an execution of its own, and show its progress.

    Without a server, this process runs the engine and a worker itself. The exit code is 0 if the execution completed, 1 if
    it failed or was cancelled, and 130 if it was left running.
    """
    from tenax.cli.commands.executions.run import PackActionRun, RunRequest, run_to_the_end

    wanted = PackActionRun(ref, parse_inputs(params, flag="--param"))
    return run_to_the_end(RunRequest(None, action=wanted), where, json=json)


def _what_runs(found: dict[str, Any]) -> str:
    if found["entrypoint"] is not None:
        return str(found["entrypoint"])
    return found["command"] if isinstance(found["command"], str) else encode(found["command"])


def _timeout(found: dict[str, Any]) -> str:
    return "of the workflow" if found["timeout"] is None else format_duration(found["timeout"])


def _attempts(most: int | None) -> str:
    if most is None:
        return "unlimited attempts"
    return f"{most} attempt{'' if most == 1 else 's'}"


def _parameter_words(parameter: dict[str, Any]) -> str:
    words = encode(parameter["schema"])
    if parameter["required"]:
        return f"{words}, required"
    return words if parameter["default"] is None else f"{words}, default {encode(parameter['default'])}"


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    table = new_table("action", "runtime", "timeout", "attempts", "parameters", right=("attempts",))
    for one in found:
        required = [name if p["required"] else f"[{name}]" for name, p in one["parameters"].items()]
        attempts = "unlimited" if one["max_attempts"] is None else str(one["max_attempts"])
        timeout = "" if one["timeout"] is None else format_duration(one["timeout"])
        cells = (one["ref"], one["runtime"], timeout, attempts, " ".join(required))
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table
