"""Names the commands with which people answer what waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.cli.flags import TargetFlags


def how_to_answer(
    waiting: Mapping[str, Any], execution_id: int, step: str, item: int | None, where: TargetFlags
) -> str:
    """Returns the command that answers a wait for a person. Returns an empty text for other waits."""
    match waiting["for"]:
        case "signal":
            return f"send it: {where.command('signal', execution_id, waiting.get('signal'))}"
        case "approval":
            which = [] if item is None else ["--item", item]
            return f"{where.command('approve', execution_id, step, *which)} (or reject)"
        case _:
            return ""
