"""How commands speak: rich on a terminal, plain text into a pipe, one JSON document where that is asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Container
from functools import cache
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_PIPE_WIDTH = 100_000
"""What is read by a program, or by a pager, is not wrapped."""


@cache
def console(*, stderr: bool = False) -> Console:
    """rich decides on colours: only on a terminal, and not with NO_COLOR. User's text is never taken for markup."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """The boundary says what a reader that has left means; rich would end the program by itself."""
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    return Piped(
        stderr=stderr,
        width=None if stream.isatty() else _PIPE_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )


def show(*renderables: RenderableType) -> None:
    """Print for people, on stdout."""
    target = console()
    for renderable in renderables:
        if target.is_terminal:
            target.print(renderable)
        else:
            with target.capture() as captured:
                target.print(renderable)
            # Columns are filled up with spaces, which nothing that reads a pipe wants.
            sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def new_table(*titles: str, right: Container[str] = (), wrapped: Container[str] = ()) -> Table:
    """Without lines, a column for each title; `right` are those of numbers. What is not `wrapped` keeps to one line."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in titles:
        wraps = title in wrapped
        table.add_column(
            title,
            header_style="dim",
            justify="right" if title in right else "left",
            no_wrap=not wraps,
            overflow="fold" if wraps else "ellipsis",
        )
    return table


def say(text: str, *, stream: IO[str] | None = None) -> None:
    """Plain lines, without loading rich."""
    print(printable(text), file=stream or sys.stdout)


def print_json(document: Any) -> None:
    """The one document of `--json`, indented: people read it and diff it too."""
    print(json_document(document))


def json_document(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def printable(text: str) -> str:
    """Text that came from elsewhere, without what would steer the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def one_line(value: Any, limit: int = 200) -> str:
    """A value within a line: text as it is, anything else as JSON, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def to_the_second(at: str) -> str:
    """A time of the API, as a list shows it."""
    return at.partition(".")[0].removesuffix("Z").replace("T", " ")
