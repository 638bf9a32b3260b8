"""Writes "One run" of docs/benchmarks.md from one or more results: `python -m benchmarks.page RESULT.json ...`.

Each measure may have been run alone. If a measure is in several results, the last one counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Figure, Run, machine_lines, markdown, marked, measured, table, title, verdict

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
BEGIN = "<!-- one run: written by `python -m benchmarks.page` -->"
END = "<!-- one run: end -->"
PLOTS = "images/benchmarks-*.svg"
_OF_THE_MOMENT = ("load_average_before", "durable_commit_ms")


class PageError(Exception):
    """The page cannot be written. The message says why and what to do."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT.json")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page to write into")
    options = parser.parse_args()
    try:
        runs = [read(file) for file in options.results]
        images = [
            str(file.relative_to(options.page.parent)) for file in sorted(options.page.parent.glob(PLOTS))
        ]
        options.page.write_text(written_into(options.page.read_text(), section(runs, images), options.page))
    except (OSError, PageError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"written into {options.page}\n")
    return 0


def read(file: Path) -> Run:
    try:
        run = Run.from_dict(json.loads(file.read_text()))
    except (ValueError, KeyError, TypeError) as error:
        raise PageError(f"{file} is no result of the bench: {error!r}; `make bench` writes one") from error
    if run.options.get("quick"):
        raise PageError(f"{file} is of a run with --quick: its figures mean little; run it without")
    return run


def written_into(page: str, text: str, file: Path = PAGE) -> str:
    """Returns the page with the text between its two comments."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise PageError(f"{file} has no place for a run; it stands between the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def section(runs: Sequence[Run], images: Sequence[str] = ()) -> str:
    """Returns the section: the machine, the marks with their commands, the plots, and all figures."""
    figures = _newest(runs)
    parts = [
        "The machine:",
        f"```\n{_machines(runs)}\n```",
        "The marks, and what was measured:",
        marks_table(figures),
        *(f"![{Path(image).stem}]({image})" for image in images),
        "All figures:",
        table(figures),
    ]
    return "\n\n".join(parts)


def marks_table(figures: Sequence[Figure]) -> str:
    rows = [
        (f"{figure.measure}: {title(figure)}", f"{marked(figure)} {figure.unit}".strip(), measured(figure), verdict(figure), f"`{figure.command}`")
        for figure in figures
        if figure.mark is not None
    ]  # fmt: skip
    return markdown([("figure", "mark", "measured", "reached", "command"), *rows])


def _newest(runs: Sequence[Run]) -> list[Figure]:
    by_measure: dict[str, list[Figure]] = {}
    for run in runs:
        of_run: dict[str, list[Figure]] = {}
        for figure in run.figures:
            of_run.setdefault(figure.measure, []).append(figure)
        by_measure |= of_run
    return [figure for figures in by_measure.values() for figure in figures]


def _machines(runs: Sequence[Run]) -> str:
    """Describes the machines: once if all runs were on the same one, with the differences between the runs."""
    lasting = [_without(run.machine, _OF_THE_MOMENT) for run in runs]
    if any(machine != lasting[0] for machine in lasting):
        return "\n\n".join(f"started: {run.started}\n{machine_lines(run.machine)}" for run in runs)
    moments = [
        ", ".join([run.started, *(f"{name.replace('_', ' ')} {run.machine[name]}" for name in _OF_THE_MOMENT if name in run.machine)])
        for run in runs
    ]  # fmt: skip
    return "\n".join([machine_lines(lasting[0]), *(f"run: {moment}" for moment in moments)])


def _without(facts: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in names}


if __name__ == "__main__":
    sys.exit(main())
