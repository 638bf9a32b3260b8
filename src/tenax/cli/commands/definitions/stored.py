"""Stores workflows, lists the stored ones, which can be started by their name, and pauses workflows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.inputs import read_definition
from tenax.cli.output import new_table, print_json, say, show
from tenax.drawing.text_lines import one_line, to_the_second
from tenax.errors import UsageError
from tenax.model.source.findings import shorten, suggest
from tenax.sdk.files import DefinitionFile


def store(
    file: Annotated[str, Parameter(help="The workflow file; - is stdin.")],
    /,
    *,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Store a workflow file without running it. Then a step with `workflow: NAME`, or a submission by name through the API, can
    start it.

    NAME means the definition that was stored last under it, and NAME@VERSION the last one with this version. To go back,
    store the earlier file again. A file that is only run or submitted does not change what a name means.
    """
    definition = read_definition(file)
    answer, schedule = run_async(_stored(where, definition))
    if json:
        print_json(answer)
        return
    version = f", version {answer['version']}," if answer["version"] else ""
    stands = "is stored" if answer["created"] else "was stored before; its name means this definition again"
    say(f"workflow {answer['name']}{version} {stands}: content {answer['hash'][:12]}")
    if schedule is not None:
        from tenax.drawing.schedule_words import next_words

        say(f"  {next_words(schedule)}")


async def _stored(
    where: TargetFlags, definition: DefinitionFile
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Stores a definition. Returns the answer, and the schedule if the file declares one."""
    from tenax.cli.input.check_definition import check_whole
    from tenax.cli.input.policies import default_retry
    from tenax.sdk.bundle import bundle

    files, settings = bundle(definition), where.settings()
    if not settings.server:  # checks the file before a database is started for it
        check_whole(definition.text, definition.filename, files, default_retry(settings))
    async with open_backend(settings) as backend:
        answer = await backend.store_workflow(definition.text, filename=definition.filename, files=files)
        if "schedule" not in definition.text:
            return answer, None
        known = await backend.schedules()
        return answer, next((one for one in known if one["declared"] and one["name"] == answer["name"]), None)


workflows = App(name="workflows", help="List the stored workflows, pause or resume one.")


@workflows.default
def list_(
    *words: Annotated[str, Parameter(show=False)],
    name: Annotated[str | None, Parameter(help="Only workflows with this name.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the workflows that were stored with `tenax store`, and all that are paused. A name means the first one listed
    with it."""
    if words:
        raise UsageError(
            f"unknown command `workflows {shorten(words[0])}`{suggest(words[0], ('pause', 'resume'))}",
            remedy=f"list one workflow: {where.command('workflows', '--name', words[0])}",
        )
    found = run_async(_found(where, name))
    if json:
        print_json(found)
    elif found:
        show(_table(found), *_pauses(found, where))
    else:
        say("no workflows")


def _pauses(found: Sequence[dict[str, Any]], where: TargetFlags) -> list[Any]:
    from rich.text import Text

    paused = {one["name"]: one for one in found if one["paused_by"]}
    lines = []
    for name, one in paused.items():
        why = f": {one_line(one['paused_why'])}" if one["paused_why"] else ""
        go_on = where.command("workflows", "resume", name)
        lines.append(f"{name} is paused by {one_line(one['paused_by'])}{why}; let it go on: {go_on}")
    return [Text(line, style="yellow") for line in lines]


Name = Annotated[str, Parameter(name="NAME", help="The name of a workflow.")]
Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]


@workflows.command
def pause(
    name: Name, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Pause a workflow. Its executions are paused, and each new one begins paused, until it is resumed. Running attempts
    may finish.
    """
    changed = run_async(_paused(where, name, reason, paused=True))
    if json:
        print_json({"workflow": name, "paused": True, "changed": changed})
        return
    words = "is paused: its executions are paused one after the other" if changed else "was paused already"
    say(f"workflow {name} {words}\n  let it go on: {where.command('workflows', 'resume', name)}")


@workflows.command
def resume(
    name: Name, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Resume a paused workflow, with the executions that were paused with it."""
    changed = run_async(_paused(where, name, reason, paused=False))
    if json:
        print_json({"workflow": name, "paused": False, "changed": changed})
    else:
        say(f"workflow {name} {'goes on' if changed else 'was not paused'}")


async def _paused(where: TargetFlags, name: str, reason: str | None, *, paused: bool) -> bool:
    async with open_backend(where.settings()) as backend:
        verb = backend.pause_workflow if paused else backend.resume_workflow
        return await verb(name, reason=reason)


async def _found(where: TargetFlags, name: str | None) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.workflows(name))


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    table = new_table("workflow", "version", "content", "stored")
    for row in found:
        stored = to_the_second(row["created_at"]) if row["created_at"] else "not stored"
        cells = (one_line(row["name"]), one_line(row["version"] or ""), row["hash"][:12], stored)
        table.add_row(*(Text(cell) for cell in cells))
    return table
