"""Saves, lists and removes filters."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.filters import check_filter
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.drawing.text_lines import one_line, to_the_second
from tenax.errors import UsageError
from tenax.model.source.findings import shorten, suggest

filters = App(name="filters", help="Save filters by name, list them, or remove one.")

FilterName = Annotated[str, Parameter(name="NAME", help="The name of a saved filter.")]


@filters.default
def list_(
    *words: Annotated[str, Parameter(show=False)], json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """List the filters that were saved by name. `tenax filters list` does the same."""
    if words and words != ("list",):
        raise UsageError(
            f"unknown command `filters {shorten(words[0])}`{suggest(words[0], ('list', 'save', 'remove'))}"
        )
    found = run_async(_listed(where))
    if json:
        print_json(found)
    elif found:
        from tenax.cli.render.table import Column, RankedTable

        columns = (
            Column("name"),
            Column("filter", rank=3, least=20, wrapped=True),
            Column("saved by", rank=1, least=8),
            Column("saved", rank=2),
        )
        rows = [
            (
                one["name"],
                one_line(one["filter"], 1000),
                one_line(one["actor"]),
                to_the_second(one["saved_at"]),
            )
            for one in found
        ]
        show_(RankedTable(columns, rows))
    else:
        save = where.command("filters", "save", "NAME", "FILTER")
        say(f"no filters are saved\n  save one: {save}")


async def _listed(where: TargetFlags) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.filters())


@filters.command
def save(
    name: FilterName,
    text: Annotated[
        str, Parameter(name="FILTER", help="The filter, such as 'status=failed workflow=sync-*'.")
    ],
    /,
    *,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Save a filter by name, in the place of an earlier one. `@NAME` in other filters stands for its terms."""
    check_filter(text)
    saved = run_async(_saved(where, name, text))
    if json:
        print_json(saved)
    else:
        say(
            f"filter {name} is {'saved' if saved['created'] else 'replaced'}\n"
            f"  use it: {where.command('list', '--filter', f'@{name}')}"
        )


async def _saved(where: TargetFlags, name: str, text: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.save_filter(name, text)


@filters.command
def remove(name: FilterName, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Remove a saved filter."""
    removed = run_async(_removed(where, name))
    if json:
        print_json(removed)
    else:
        say(f"filter {name} is removed")


async def _removed(where: TargetFlags, name: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.remove_filter(name)
