"""Stores workflows and lists the stored ones, which can be started by their name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.inputs import read_definition
from tenax.cli.output import new_table, one_line, print_json, say, show, to_the_second
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
    answer = run_async(_stored(where, definition))
    if json:
        print_json(answer)
        return
    version = f", version {answer['version']}," if answer["version"] else ""
    stands = "is stored" if answer["created"] else "was stored before; its name means this definition again"
    say(f"workflow {answer['name']}{version} {stands}: content {answer['hash'][:12]}")


async def _stored(where: TargetFlags, definition: DefinitionFile) -> dict[str, Any]:
    from tenax.cli.input.check_definition import check_whole
    from tenax.cli.input.policies import default_retry
    from tenax.sdk.bundle import bundle

    files, settings = bundle(definition), where.settings()
    if not settings.server:  # checks the file before a database is started for it
        check_whole(definition.text, definition.filename, files, default_retry(settings))
    async with open_backend(settings) as backend:
        return await backend.store_workflow(definition.text, filename=definition.filename, files=files)


def workflows(
    *,
    name: Annotated[str | None, Parameter(help="Only workflows with this name.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the workflows that were stored with `tenax store`. A name means the first one listed with it."""
    found = run_async(_found(where, name))
    if json:
        print_json(found)
    elif found:
        show(_table(found))
    else:
        say("no workflows")


async def _found(where: TargetFlags, name: str | None) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.workflows(name))


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    table = new_table("workflow", "version", "content", "stored")
    for row in found:
        stored = to_the_second(row["created_at"])
        cells = (one_line(row["name"]), one_line(row["version"] or ""), row["hash"][:12], stored)
        table.add_row(*(Text(cell) for cell in cells))
    return table
