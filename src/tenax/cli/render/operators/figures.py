"""Prints statistics of retries, and figures, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tenax.cli.output import new_table, one_line, to_the_second

BAR_WIDTH = 20  # characters of a bar of 100 %
GROUPS_DRAWN = 10  # groups whose attempts are drawn
STALE_SECONDS = 10.0
"""Seconds. Older counts get a note of their age."""
_SPARKS = "▁▂▃▄▅▆▇█"


def counted_words(counted_until: str | None) -> str:
    """Returns how new the counts are."""
    if counted_until is None:
        return "nothing is counted yet: a server counts the log while it runs"
    return f"counted until {to_the_second(counted_until)} UTC"


def lag_words(counted_until: str | None, now: datetime | None = None) -> str:
    """Returns a note that the counts are old, or an empty text if they are not."""
    if counted_until is None:
        return counted_words(None)
    behind = ((now or datetime.now(UTC)) - datetime.fromisoformat(counted_until)).total_seconds()
    return counted_words(counted_until) if behind > STALE_SECONDS else ""


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3g} %"


def seconds_words(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def bar(share: float, width: int = BAR_WIDTH) -> str:
    full = round(share * width)
    return "█" * full + "░" * (width - full)


def sparkline(values: Sequence[float]) -> str:
    """Draws values as one line. The highest one is a full block."""
    most = max(values, default=0)
    if most <= 0:
        return _SPARKS[0] * len(values)
    return "".join(_SPARKS[min(int(value / most * len(_SPARKS)), len(_SPARKS) - 1)] for value in values)


def stats_table(found: Mapping[str, Any]) -> RenderableType:
    """Returns a line for each group: its failures, and how its retries ended."""
    numbers = ("failures", "retries", "succeeded", "success", "ran", "waited")
    table = new_table(found["by"], *numbers, right=numbers)
    for group in found["groups"]:
        table.add_row(
            Text(one_line(group["name"]) or "-"),
            f"{group['failures']:,}",
            f"{group['retries']:,}",
            f"{group['succeeded']:,}",
            percent(group["success_rate"]),
            seconds_words(group["seconds"]),
            seconds_words(group["waited"]),
        )
    return table


def stats_plot(found: Mapping[str, Any]) -> Sequence[RenderableType]:
    """Draws how often each attempt succeeded, for the largest groups."""
    lines: list[RenderableType] = []
    workers = [one for one in found["groups"] if one["retries"] and not one["attempts"]]
    for group in workers[:GROUPS_DRAWN]:
        words = f"{percent(group['success_rate'])} of {group['retries']:,} succeeded"
        lines.append(Text(f"  {bar(group['success_rate'])}  {words} on {one_line(group['name'])}"))
    for group in [one for one in found["groups"] if one["attempts"]][:GROUPS_DRAWN]:
        lines += [Text(""), Text(f"after {one_line(group['name'])}", style="bold")]
        for one in group["attempts"]:
            lines.append(
                Text(
                    f"  attempt {one['attempt']:>2}  {bar(one['success_rate'])}  {percent(one['success_rate'])} of "
                    f"{one['retries']:,} succeeded, waited {seconds_words(one['waited'])}, ran {seconds_words(one['seconds'])}"
                )
            )
    return lines
