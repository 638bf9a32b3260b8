"""Holds the figures of a run, and writes them as a table for people and as a document for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.stats import median

NEAR = 0.2


@dataclass(frozen=True, slots=True)
class Mark:
    """Says what a figure should reach."""

    bound: Literal["at least", "at most"]
    limit: float

    def reached(self, value: float) -> bool:
        return value >= self.limit if self.bound == "at least" else value <= self.limit

    def is_near(self, value: float) -> bool:
        """Returns whether a value is so close to the mark that a few more rounds could change the verdict. Never for a mark of zero."""
        return self.limit != 0 and abs(value - self.limit) <= NEAR * abs(value)


@dataclass(frozen=True, slots=True)
class Figure:
    """Holds one measured quantity, with a value for each round."""

    measure: str
    name: str
    unit: str
    rounds: tuple[float, ...]
    mark: Mark | None = None
    note: str = ""

    @property
    def value(self) -> float:
        return median(self.rounds)

    @property
    def reached(self) -> bool | None:
        return None if self.mark is None else self.mark.reached(self.value)

    @property
    def command(self) -> str:
        """Returns the command that measures it again, alone."""
        return f"make bench ONLY={self.measure}"

    @property
    def near_its_mark(self) -> bool:
        return self.mark is not None and self.mark.is_near(self.value)

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "measure": self.measure,
            "name": self.name,
            "unit": self.unit,
            "median": self.value,
            "least": min(self.rounds),
            "most": max(self.rounds),
            "rounds": list(self.rounds),
        }
        if self.mark is not None:
            found["mark"] = {"bound": self.mark.bound, "limit": self.mark.limit, "reached": self.reached}
            found["command"] = self.command
        if self.note:
            found["note"] = self.note
        return found

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Figure:
        mark = found.get("mark")
        return cls(
            found["measure"],
            found["name"],
            found["unit"],
            tuple(found["rounds"]),
            None if mark is None else Mark(mark["bound"], mark["limit"]),
            found.get("note", ""),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """Holds all figures of one run, and the machine."""

    started: str
    machine: Mapping[str, Any]
    options: Mapping[str, Any]
    figures: Sequence[Figure] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        return {
            "started": self.started,
            "machine": dict(self.machine),
            "options": dict(self.options),
            "figures": [figure.as_dict() for figure in self.figures],
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Run:
        figures = [Figure.from_dict(figure) for figure in found["figures"]]
        return cls(found["started"], found["machine"], found["options"], figures)


HEADER = ("measure", "what", "median", "spread", "mark", "reached", "command")


def table(figures: Sequence[Figure]) -> str:
    """Returns all figures as a table in Markdown."""
    return markdown([HEADER, *(_row(figure) for figure in figures)])


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Formats rows as Markdown. The first row is the heading. All lines have the same width."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def machine_lines(machine: Mapping[str, Any]) -> str:
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in machine.items())


def _row(figure: Figure) -> tuple[str, ...]:
    command = figure.command if figure.mark is not None else ""
    return (figure.measure, title(figure), measured(figure), spread(figure), marked(figure), verdict(figure), command)  # fmt: skip


def title(figure: Figure) -> str:
    return f"{figure.name} ({figure.note})" if figure.note else figure.name


def measured(figure: Figure) -> str:
    return f"{number(figure.value)} {figure.unit}".strip()


def spread(figure: Figure) -> str:
    rounds = figure.rounds
    return f"{number(min(rounds))} .. {number(max(rounds))}" if len(rounds) > 1 else ""


def marked(figure: Figure) -> str:
    return "" if figure.mark is None else f"{figure.mark.bound} {number(figure.mark.limit)}"


def verdict(figure: Figure) -> str:
    return {None: "", True: "yes", False: "NO"}[figure.reached]


def number(value: float) -> str:
    """Formats a number with three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3f}"
