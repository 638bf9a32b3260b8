"""Draws the pictures of the docs as SVG, from the code or from the output of a command. `make docs` writes them.

They use no fonts or styles of other hosts. Their colours suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from generators.reference import compensation_edges, state_edges
from tenax.model.definition.types import RUNTIMES

INK, LINE, PAPER, ACCENT, WARN = "#1f2933", "#5f7a8a", "#eef4f6", "#0b7a75", "#b3462d"
_FONT = "font-family='ui-monospace, Menlo, Consolas, monospace'"


class Box(NamedTuple):
    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    colour: str = LINE


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
        f"role='img' aria-label='{escape(title)}' {_FONT} font-size='13'>"
    )
    markers = "".join(
        f"<marker id='{name}' viewBox='0 0 10 10' refX='{at}' refY='5' markerWidth='7' markerHeight='7' orient='auto'>"
        f"<path d='{path}' fill='{LINE}'/></marker>"
        for name, at, path in (("end", 9, "M0 0 L10 5 L0 10 z"), ("start", 1, "M10 0 L0 5 L10 10 z"))
    )
    paper = f"<rect width='{width}' height='{height}' rx='8' fill='#ffffff'/>"
    return (
        "\n".join(
            [head, f"<title>{escape(title)}</title>", f"<defs>{markers}</defs>", paper, *parts, "</svg>"]
        )
        + "\n"
    )


def text(
    x: float, y: float, words: str, *, colour: str = INK, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f"<text x='{x:g}' y='{y:g}' fill='{colour}' text-anchor='{anchor}' font-weight='{weight}' "
        f"xml:space='preserve'>{escape(words)}</text>"
    )


def box(one: Box) -> list[str]:
    """Draws a box; its first line is its title."""
    middle = one.x + one.width / 2
    top = one.y + one.height / 2 - 9 * (len(one.lines) - 1) + 5
    frame = (
        f"<rect x='{one.x}' y='{one.y}' width='{one.width}' height='{one.height}' rx='6' fill='{PAPER}' "
        f"stroke='{one.colour}' stroke-width='1.5'/>"
    )
    return [
        frame,
        *(
            text(middle, top + 18 * number, line, anchor="middle", weight="bold" if number == 0 else "normal")
            for number, line in enumerate(one.lines)
        ),
    ]


def arrow(points: Sequence[tuple[float, float]], *, both: bool = False, colour: str = LINE) -> str:
    path = " ".join(f"{'M' if number == 0 else 'L'}{x:g} {y:g}" for number, (x, y) in enumerate(points))
    start = " marker-start='url(#start)'" if both else ""
    return (
        f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='1.5' marker-end='url(#end)'{start}/>"
    )


def states(title: str, edges: Sequence[tuple[str, str]]) -> str:
    """Draws states from top to bottom: arcs on the right lead down, arcs on the left lead up."""
    names = list(dict.fromkeys([*(before for before, _ in edges), *(after for _, after in edges)]))
    ends = {name for name in names if name not in {before for before, _ in edges}}
    row = {name: 40 + 56 * number for number, name in enumerate(names)}
    left, right = 280, 400
    parts: list[str] = []
    for before, after in edges:
        if before == after:
            continue
        down = row[after] > row[before]
        side, sign = (right, 1) if down else (left, -1)
        reach = side + sign * (30 + abs(row[after] - row[before]) * 0.5)
        start, end = row[before] + (6 if down else -6), row[after] + (-6 if down else 6)
        parts.append(
            f"<path d='M{side} {start} C{reach:g} {start} {reach:g} {end} {side + sign * 2} {end}' fill='none' "
            f"stroke='{ACCENT if down else WARN}' stroke-width='1.3' marker-end='url(#end)'/>"
        )
    for name in names:
        parts += box(Box(left, row[name] - 15, right - left, 30, (name,), ACCENT if name in ends else LINE))
    return svg(680, 40 + 56 * len(names), title, parts)


def architecture() -> str:
    parts = [
        *box(Box(40, 20, 220, 56, ("your code, YAML", "tenax, Client, SyncClient"))),
        *box(Box(470, 20, 310, 56, ("workers (any number)", ", ".join(RUNTIMES)))),
        *box(Box(40, 140, 740, 190, ("",), ACCENT)),
        text(60, 166, "server (stateless, any number)", weight="bold"),
        *box(Box(60, 180, 220, 60, ("HTTP API", "tokens, callbacks, limits"))),
        *box(Box(290, 180, 250, 60, ("engine", "submit, lease, report, recover"))),
        *box(Box(550, 180, 210, 60, ("loops", "timers, sweep, leader"))),
        *box(Box(180, 258, 220, 56, ("policy: DECIDE", "pure: facts in, value out"), WARN)),
        *box(Box(420, 258, 220, 56, ("store", "one statement for a batch"))),
        *box(
            Box(
                200,
                390,
                420,
                70,
                ("PostgreSQL", "the event log, the queue, current state", "embedded, or your own from 14 on"),
                ACCENT,
            )
        ),
        arrow([(150, 76), (150, 138)]),
        text(160, 112, "submit, look, steer"),
        arrow([(670, 140), (670, 78)], both=True),
        text(500, 112, "lease, report", anchor="start"),
        arrow([(410, 330), (410, 388)], both=True),
        text(420, 364, "SQL, LISTEN and NOTIFY"),
    ]
    return svg(
        820,
        480,
        "The parts of Tenax: clients and workers speak to the server, the server to PostgreSQL",
        parts,
    )


def hot_path() -> str:
    names = (("client", 80), ("server", 300), ("PostgreSQL", 620), ("worker", 900))
    client, server, database, worker = (x for _, x in names)
    parts = [text(x, 30, name, anchor="middle", weight="bold") for name, x in names]
    parts += [f"<path d='M{x} 42 L{x} 520' stroke='{LINE}' stroke-dasharray='3 4'/>" for _, x in names]
    left, middle, right = (client + server) / 2, (server + database) / 2, (database + worker) / 2
    messages = (
        (70, worker, server, right, "asks for work, and waits"),
        (120, client, server, left, "submits jobs"),
        (160, server, database, middle, "INSERT: one batch, one commit"),
        (205, database, server, middle, "new work"),
        (250, server, database, middle, "one claim: ... SKIP LOCKED"),
        (300, server, worker, right, "items, inputs, lease tokens"),
        (385, worker, server, right, "reports of outcomes"),
        (455, server, database, middle, "one statement, checks each token"),
        (500, server, worker, right, "answers"),
    )
    for y, start, end, x, words in messages:
        parts.append(arrow([(start, y), (end + (-4 if end > start else 4), y)]))
        parts.append(text(x, y - 8, words, anchor="middle"))
    parts += box(Box(worker - 75, 325, 150, 34, ("runs attempts",), ACCENT))
    parts += box(Box(server - 95, 402, 190, 28, ("DECIDE, from memory",), WARN))
    return svg(
        1000,
        540,
        "The hot path: what client, server, PostgreSQL and worker say to each other for a job",
        parts,
    )


_RUN = """\
$ tenax run examples/flaky.yaml
execution 1 of workflow flaky
   +0.000s         execution started
   +0.000s  fetch  enqueued
   +0.029s  fetch  attempt 1 of 3 started on run-laptop-4711
   +0.062s  fetch  attempt 1 failed: transient (exit_code_7): exit code 7: the service is not up yet
   +0.062s  fetch  retry in 1s (2 retries left)
   +1.070s  fetch  attempt 2 of 3 started on run-laptop-4711
   +1.093s  fetch  attempt 2 failed: transient (exit_code_7): exit code 7: the service is not up yet
   +1.093s  fetch  retry in 2s (1 retry left)
   +3.099s  fetch  attempt 3 of 3 started on run-laptop-4711
   +3.108s  fetch  attempt 3 succeeded
   +3.108s  fetch  completed
   +3.108s         execution completed"""
"""The output of the command. The README has the same lines, and a test runs them."""


def recorded_lines() -> list[str]:
    return _RUN.splitlines()


def timeline() -> str:
    """Draws the terminal with the output, and the attempts below it on a line of time."""
    dark, pale, red, green, yellow = "#13212b", "#dfe9ee", "#ff9b85", "#7ee0b8", "#f2d479"
    parts = [f"<rect x='10' y='10' width='860' height='292' rx='8' fill='{dark}'/>"]
    for number, line in enumerate(recorded_lines()):
        colour = red if " failed" in line else green if "succeeded" in line or "completed" in line else pale
        colour = yellow if "retry in" in line else colour
        parts.append(text(26, 36 + 19 * number, line, colour=colour))
    scale, left, y = 240, 60, 350
    parts.append(f"<path d='M{left} {y} L{left + 3.2 * scale:g} {y}' stroke='{LINE}'/>")
    for second in range(4):
        x = left + second * scale
        parts += [
            f"<path d='M{x} {y - 4} L{x} {y + 4}' stroke='{LINE}'/>",
            text(x, y + 20, f"{second} s", anchor="middle"),
        ]
    for start, end, words, colour in (
        (0.029, 0.062, "attempt 1 failed", WARN), (1.070, 1.093, "attempt 2 failed", WARN), (3.099, 3.108, "succeeded", ACCENT),
    ):  # fmt: skip
        x = left + start * scale
        width = max(6, (end - start) * scale)
        parts.append(f"<rect x='{x:g}' y='{y - 14}' width='{width:g}' height='14' fill='{colour}'/>")
        parts.append(text(min(x, 760), y - 22, words, colour=colour))
    parts += [
        text(left + 0.56 * scale, y - 6, "1 s", colour=LINE, anchor="middle"),
        text(left + 2.09 * scale, y - 6, "2 s", colour=LINE, anchor="middle"),
    ]
    return svg(
        880, 390, "tenax run: two attempts fail, the third succeeds, after delays of 1 and 2 seconds", parts
    )


PICTURES: Mapping[str, Callable[[], str]] = {
    "architecture.svg": architecture,
    "hot-path.svg": hot_path,
    "timeline.svg": timeline,
    "states-execution.svg": lambda: states("The states of an execution", state_edges("execution")),
    "states-step.svg": lambda: states("The states of a step", state_edges("step")),
    "states-item.svg": lambda: states("The states of a work item", state_edges("item")),
    "states-compensation.svg": lambda: states("The states of a compensation", compensation_edges()),
    "states-worker.svg": lambda: states("The states of a worker", state_edges("worker")),
}
