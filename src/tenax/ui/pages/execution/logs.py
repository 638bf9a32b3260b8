"""Reads what the attempts of an execution have printed last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from msgspec import to_builtins

from tenax.drawing.progress_words import OutputText, attempt_key, attempt_name
from tenax.drawing.text_lines import printable
from tenax.engine.engine import Engine
from tenax.model.attempt.live_views import OutputChunk
from tenax.ui.pages.execution.frame import frame

TEMPLATE = "executions/logs.html"
BLOCKS = ("output",)
PART_BYTES = 131_072
"""Bytes of the largest part of output."""
MOST_SHOWN = 400_000
"""Bytes of output on the page, the last ones. The command and the API have all of it."""


@dataclass(frozen=True, slots=True)
class PrintedText:
    """Is what one attempt has printed before another one did."""

    name: str
    text: str


async def logs_view(
    engine: Engine, execution_id: int, step: str | None, item: int | None, attempt: int | None
) -> dict[str, Any]:
    execution = await engine.get(execution_id)
    found = await engine.last_output(execution_id, MOST_SHOWN, step=step, item=item, attempt=attempt)
    return {
        **await frame(engine, execution, "Logs"),
        "printed": _printed(found),
        "is_cut": sum(chunk.size for chunk in found) > MOST_SHOWN - PART_BYTES,
        "only": _only(step, item, attempt),
    }


def _printed(chunks: Sequence[OutputChunk]) -> list[PrintedText]:
    plain: list[dict[str, Any]] = [to_builtins(chunk) for chunk in chunks]
    texts = OutputText(from_start=False)
    return [
        PrintedText(attempt_name(some[0]), printable("".join(texts.of(chunk) for chunk in some)))
        for some in (list(of_one) for _, of_one in groupby(plain, attempt_key))
    ]


def _only(step: str | None, item: int | None, attempt: int | None) -> str | None:
    """Returns what the page is restricted to, in words."""
    parts = [("step", step), ("item", item), ("attempt", attempt)]
    return ", ".join(f"{name} {value}" for name, value in parts if value is not None) or None
