"""Prints tables that fit the width of the terminal. Columns give way by rank, and the most important ones are never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2  # columns of the terminal between two columns of a table


@dataclass(frozen=True, slots=True)
class Column:
    """Describes a column, and how it gives way if there is no room for the whole table."""

    title: str
    rank: int | None = None
    """The column with the lowest rank gives way first. A column without a rank is never cut."""
    least: int | None = None
    """The width down to which the column is cut before it is left out. None means that it is not cut."""
    right: bool = False
    wrapped: bool = False
    """Text without room continues on the next line, broken between words. Otherwise it is cut."""


class RankedTable:
    """Is a table without lines. On a narrow terminal its columns give way:

    first they are cut to their least width, then they are left out, each time by rank. The last ones to be cut get the
    room that remains. Columns that were left out are named below the table.
    """

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[Text | str]]) -> None:
        self._columns = columns
        self._rows = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._fitted(options.max_width)
        table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
        for column, width in zip(self._columns, widths, strict=True):
            if width is not None:
                table.add_column(
                    column.title,
                    header_style="dim",
                    justify="right" if column.right else "left",
                    no_wrap=not column.wrapped,
                    overflow="fold" if column.wrapped else "ellipsis",
                    width=width,
                )
        for row in self._rows:
            table.add_row(*(cell for cell, width in zip(row, widths, strict=True) if width is not None))
        yield from _lines(table, console, options)
        missing = [column for column, width in zip(self._columns, widths, strict=True) if width is None]
        if missing:
            titles = [column.title for column in sorted(missing, key=lambda column: column.rank or 0)]
            yield Text(f"left out, for lack of room: {', '.join(titles)}", style="dim")

    def _natural(self, place: int) -> int:
        longest = max((row[place].cell_len for row in self._rows), default=0)
        return max(longest, len(self._columns[place].title))

    def _fitted(self, room: int) -> list[int | None]:
        """Returns the width of each column, or None for a column that is left out."""
        natural = [self._natural(place) for place in range(len(self._columns))]
        widths: list[int | None] = list(natural)
        by_rank = sorted(
            (place for place, column in enumerate(self._columns) if column.rank is not None),
            key=lambda place: self._columns[place].rank or 0,
        )
        for place in by_rank:
            least = self._columns[place].least
            if _total(widths) > room and least is not None:
                widths[place] = min(natural[place], max(least, len(self._columns[place].title)))
        for place in by_rank:
            if _total(widths) > room:
                widths[place] = None
        for place in reversed(by_rank):
            width = widths[place]
            if width is not None and width < natural[place]:
                widths[place] = min(natural[place], width + max(room - _total(widths), 0))
        return widths


def _total(widths: Sequence[int | None]) -> int:
    shown = [width for width in widths if width is not None]
    return sum(shown) + GAP * (len(shown) - 1)


def _lines(table: Table, console: Console, options: ConsoleOptions) -> RenderResult:
    """Renders the table at its own width. rich would squeeze a table that is wider than the terminal, and cut ids."""
    natural = console.measure(table, options=options.update(max_width=1_000_000)).maximum
    yield from console.render(table, options.update(width=max(natural, 1), max_width=max(natural, 1)))
