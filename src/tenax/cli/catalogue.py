"""The workflows that are stored, to be started by their name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend import open_backend, run_async
from tenax.cli.flags import ANYWHERE, Json, Where
from tenax.cli.inputs import DefinitionFile, read_definition
from tenax.cli.output import one_line, print_json, say, show


def store(
    file: Annotated[str, Parameter(help="The workflow file; - is stdin.")],
    /,
    *,
    json: Json = False,
    where: Where = ANYWHERE,
) -> None:
    """Store a workflow file without running it, so that `workflow: NAME` of a step, and a submission by name, find it.

    A name stands for what was stored last under it; NAME@VERSION for the last of that version.
    """
    definition = read_definition(file)
    answer = run_async(_stored(where, definition))
    if json:
        print_json(answer)
        return
    version = f", version {answer['version']}," if answer["version"] else ""
    stands = "is stored" if answer["created"] else "was stored already"
    say(f"workflow {answer['name']}{version} {stands}: content {answer['hash'][:12]}")


async def _stored(where: Where, definition: DefinitionFile) -> dict[str, Any]:
    from tenax.cli.bundle import bundle, check_whole
    from tenax.cli.definitions import default_retry

    files, settings = bundle(definition), where.settings()
    if not settings.server:  # a file that is wrong is refused before a database is started for it
        check_whole(definition.text, definition.filename, files, default_retry(settings))
    async with open_backend(settings) as backend:
        return await backend.store_workflow(definition.text, filename=definition.filename, files=files)


def workflows(
    *,
    name: Annotated[str | None, Parameter(help="Only those of this name.")] = None,
    json: Json = False,
    where: Where = ANYWHERE,
) -> None:
    """List the workflows that are stored: those that were run and those of `tenax store`, the newest of a name first."""
    found = run_async(_found(where, name))
    if json:
        print_json(found)
    elif found:
        show(_table(found))
    else:
        say("no workflows")


async def _found(where: Where, name: str | None) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.workflows(name))


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("workflow", "version", "content", "stored"):
        table.add_column(title, header_style="dim", no_wrap=True)
    for row in found:
        stored = row["created_at"].partition(".")[0].removesuffix("Z").replace("T", " ")
        cells = (one_line(row["name"]), one_line(row["version"] or ""), row["hash"][:12], stored)
        table.add_row(*(Text(cell) for cell in cells))
    return table
