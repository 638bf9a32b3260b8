"""Installs, lists, shows and removes packs of actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.output import new_table, print_json, say, show
from tenax.drawing.text_lines import one_line, to_the_second

pack = App(name="pack", help="Install packs of actions, or list, show or remove them.")

LARGEST = 2_000_000_000
"""Bytes of the files that are sent to a server. Its own limit is `max_pack`."""
Name = Annotated[str, Parameter(name="NAME", help="The name of a pack.")]


@pack.command
def install(
    folder: Annotated[Path, Parameter(help="The folder of the pack.")],
    /,
    *,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Install a pack from its folder, in the place of an earlier pack of its name.

    Executions go on with the content that they began with.
    """
    answer = run_async(_installed(where, folder))
    if json:
        print_json(answer)
        return
    version = f", version {answer['version']}," if answer["version"] else ""
    stands = "is installed" if answer["created"] else "was installed before"
    before = f" in the place of {answer['replaced'][:12]}" if answer["replaced"] else ""
    say(f"pack {answer['name']}{version} {stands}: content {answer['hash'][:12]}{before}")
    say("\n".join(f"  {one_line(ref)}" for ref in answer["actions"]))


async def _installed(where: TargetFlags, folder: Path) -> dict[str, Any]:
    from tenax.cli.input.pack_folder import pack_folder

    settings = where.settings()
    archive = pack_folder(folder, LARGEST if settings.server else settings.max_pack)
    async with open_backend(settings) as backend:
        return await backend.install_pack(archive, folder=folder.resolve().name)  # noqa: ASYNC240 -- once


@pack.command(name="list")
def list_(*, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """List the installed packs."""
    found = run_async(_listed(where))
    if json:
        print_json(found)
    elif found:
        show(_table(found))
    else:
        say("no packs: `tenax pack install FOLDER` installs one")


async def _listed(where: TargetFlags) -> Sequence[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.packs()


@pack.command(name="show")
def show_(name: Name, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Show a pack with its actions."""
    found = run_async(_shown(where, name))
    if json:
        print_json(found)
        return
    version = f" version {one_line(found['version'])}" if found["version"] else ""
    say(f"pack {found['name']}{version}")
    if found["description"]:
        say(f"  {one_line(found['description'])}")
    say(f"  content {found['hash']}: {found['files']:,} files, {found['size']:,} bytes")
    say(f"  installed {to_the_second(found['installed_at'])} by {one_line(found['installed_by'])}")
    say("  actions:")
    say("\n".join(f"    {one_line(ref)}" for ref in found["actions"]))


async def _shown(where: TargetFlags, name: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.pack(name)


@pack.command
def remove(name: Name, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Remove a pack. Executions that use it keep its content until they have ended."""
    removed = run_async(_removed(where, name))
    if json:
        print_json(removed)
    else:
        say(f"pack {removed['name']} is removed: content {removed['hash'][:12]}")


async def _removed(where: TargetFlags, name: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.remove_pack(name)


def _table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    table = new_table("pack", "version", "actions", "content", "installed", "by", right=("actions",))
    for one in found:
        installed = to_the_second(one["installed_at"])
        cells = (one["name"], one["version"] or "", str(len(one["actions"])), one["hash"][:12], installed)
        table.add_row(*(Text(one_line(cell)) for cell in (*cells, one["installed_by"])))
    return table
