"""The figures of a run as a table for people and as a document for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.stats import median


@dataclass(frozen=True, slots=True)
class Mark:
    """What a figure should reach."""

    bound: Literal["at least", "at most"]
    limit: float

    def reached(self, value: float) -> bool:
        return value >= self.limit if self.bound == "at least" else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity: a value for each round."""

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
        if self.note:
            found["note"] = self.note
        return found


@dataclass(frozen=True, slots=True)
class Run:
    """All figures of one run, and the machine they are true of."""

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


HEADER = ("measure", "what", "median", "spread", "mark", "reached")


def table(figures: Sequence[Figure]) -> str:
    """A table of Markdown, so that it can be pasted into the docs as it is."""
    rows = [HEADER, *(_row(figure) for figure in figures)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEADER))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def machine_lines(machine: Mapping[str, Any]) -> str:
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in machine.items())


def _row(figure: Figure) -> tuple[str, ...]:
    spread = f"{number(min(figure.rounds))} .. {number(max(figure.rounds))}" if len(figure.rounds) > 1 else ""
    mark = "" if figure.mark is None else f"{figure.mark.bound} {number(figure.mark.limit)}"
    reached = {None: "", True: "yes", False: "NO"}[figure.reached]
    name = f"{figure.name} ({figure.note})" if figure.note else figure.name
    return (figure.measure, name, f"{number(figure.value)} {figure.unit}".strip(), spread, mark, reached)


def number(value: float) -> str:
    """Three digits that mean something, and no more."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3f}"
