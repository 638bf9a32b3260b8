"""Prints the output of commands: with rich on a terminal, as plain text into a pipe, or as one JSON document."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tenax.drawing.text_lines import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

STDIN = "/dev/stdin"
"""The path that replaces the argument `-` (see `tenax.cli.errors`)."""
_PIPE_WIDTH = 100_000
"""Columns of output that is not a terminal. Programs and pagers get lines that are not wrapped."""


@cache
def console(*, stderr: bool = False) -> Console:
    """Returns the console. rich uses colours only on a terminal without NO_COLOR. Text of users is never read as markup."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Raises the error for `run_command`, which handles it. rich would end the program."""
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
    """Prints for people, on stdout."""
    target = console()
    for renderable in renderables:
        if target.is_terminal:
            target.print(renderable, crop=False)  # a table shows its ids whole, however narrow the terminal
        else:
            with target.capture() as captured:
                target.print(renderable)
            # rich fills columns with trailing spaces, which are useless in a pipe.
            sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def new_table(*titles: str, right: Container[str] = (), wrapped: Container[str] = ()) -> Table:
    """Returns a table without lines, with a column for each title.

    The columns in `right` are aligned to the right, for numbers. Only the columns in `wrapped` may have several lines.
    """
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
    """Prints plain lines, without importing rich."""
    print(printable(text), file=stream or sys.stdout)


def say_wrapped(text: str) -> None:
    """Prints lines. On a terminal, long ones are broken between words, and go on below their first word."""
    if not sys.stdout.isatty():
        say(text)
        return
    width = shutil.get_terminal_size().columns
    for line in printable(text).split("\n"):
        print(_wrapped(line, width))


def _wrapped(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line,
        width=max(width, len(indent) + 20),
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


def write_text(text: str, output: str | None) -> None:
    """Writes a text to a file, and says so. None and `-` mean stdout."""
    if output is None or output == STDIN:  # the user wrote `-`, which means stdout here
        sys.stdout.write(text)
    else:
        Path(output).write_text(text, "utf-8")
        say(f"wrote {output}")


def print_json(document: Any) -> None:
    """Prints the document of `--json`, indented, since people read and compare it too."""
    print(json_document(document))


def json_document(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)
