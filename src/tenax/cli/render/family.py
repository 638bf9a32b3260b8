"""Prints the executions below an execution as an indented list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from tenax.cli.render.styles import STYLES
from tenax.drawing.event_lines import duration, failure_words, in_step, seconds_between
from tenax.drawing.text_lines import one_line, printable

Member = Mapping[str, Any]


def has_children(execution: Mapping[str, Any]) -> bool:
    return any(step.get("children") for step in execution["steps"].values())


def family_lines(tree: Member, now: str) -> Iterator[Text]:
    """Yields a line for each descendant of the execution. Does not recurse, since the tree may be deep."""
    waiting: list[tuple[int, Member | int]] = _below(tree, 0)
    while waiting:
        level, member = waiting.pop()
        if isinstance(member, int):
            yield Text(f"{'  ' * level}and {member:,} more", style="dim")
            continue
        yield _line(member, level, now)
        waiting += _below(member, level + 1)


def _below(member: Member, level: int) -> list[tuple[int, Member | int]]:
    """Returns the children in reverse order, since the last one of the list is taken first."""
    more: list[tuple[int, Member | int]] = [(level, member["more"])] if member.get("more") else []
    return [*more, *((level, child) for child in reversed(member["children"]))]


def _line(member: Member, level: int, now: str) -> Text:
    item = "" if member.get("item") is None else f"[{member['item']}]"
    attempt = f", attempt {member['attempt']}" if (member.get("attempt") or 1) > 1 else ""
    took = duration(seconds_between(member["created_at"], member["finished_at"] or now))
    line = Text.assemble(
        f"{'  ' * level}{printable(str(member['step']))}{item}{attempt}: execution ",
        (str(member["id"]), "bold"),
        f" of {printable(member['workflow'])}: ",
        (member["status"], STYLES.get(member["status"], "")),
        f" {'in' if member['finished_at'] else 'for'} {took}",
    )
    if failure := member.get("failure"):
        line.append(f"{in_step(failure)}: {one_line(failure_words(failure), 160)}", style="red")
    return line
