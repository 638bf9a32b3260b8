"""Shows the alerts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.output import new_table, print_json, say
from tenax.cli.output import show as show_


def alerts(*, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> int:
    """Show the alerts. Exit code 1 if one of them fires."""
    found = run_async(_read(where))
    if json:
        print_json(found)
    else:
        _print(found)
    return int(found["firing"])


async def _read(where: TargetFlags) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.alerts()


def _print(found: Mapping[str, Any]) -> None:
    from rich.text import Text

    from tenax.cli.render.operators.figures import counted_words

    table = new_table("alert", "state", "about", wrapped=("about",))
    for one in found["alerts"]:
        state = Text("fires", style="bold red") if one["firing"] else Text("quiet", style="green")
        table.add_row(Text(one["name"]), state, Text(one["text"]))
    show_(table)
    say(counted_words(found["counted_until"]))
