"""Runs the measures, prints the table and writes the results: `python -m benchmarks [MEASURE ...]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    decision,
    fairness,
    fan_out,
    graph,
    herd,
    history,
    idle,
    latency,
    lateness,
    machine,
    pages,
    recovery,
    retries,
    rolling,
    scaling,
    single_tasks,
    start,
    steps,
    submitting,
    throughput,
    waiting,
    watched,
)
from benchmarks.arena import Arena, arena
from benchmarks.children import ChildFailed
from benchmarks.plan import Plan
from benchmarks.plots import plots
from benchmarks.report import Figure, Run, machine_lines, table
from tenax.errors import TenaxError

MEASURES: dict[str, Callable[[Arena, Plan], Awaitable[list[Figure]]]] = {
    throughput.MEASURE: throughput.measure,
    submitting.MEASURE: submitting.measure,
    single_tasks.MEASURE: single_tasks.measure,
    steps.MEASURE: steps.measure,
    latency.MEASURE: latency.measure,
    lateness.MEASURE: lateness.measure,
    retries.MEASURE: retries.measure,
    herd.MEASURE: herd.measure,
    fan_out.MEASURE: fan_out.measure,
    graph.MEASURE: graph.measure,
    fairness.MEASURE: fairness.measure,
    recovery.MEASURE: recovery.measure,
    rolling.MEASURE: rolling.measure,
    waiting.MEASURE: waiting.measure,
    history.MEASURE: history.measure,
    pages.MEASURE: pages.measure,
    watched.MEASURE: watched.measure,
    decision.MEASURE: decision.measure,
    idle.MEASURE: idle.measure,
    scaling.MEASURE: scaling.measure,
    start.MEASURE: start.measure,
}
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    options = _options()
    try:
        run, written = _measured(options)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.stderr.write(f"stopped; the measures that were done are in {options.results}\n")
        return 130
    except (ChildFailed, TenaxError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except TimeoutError:
        sys.stderr.write(
            "a round did not end in time: is the machine overloaded? `--quick` runs shorter rounds\n"
        )
        return 1
    sys.stdout.write(f"{machine_lines(run.machine)}\n\n{table(run.figures)}\n\nwritten to {written}\n")
    return 0


def _write(run: Run, folder: Path) -> str:
    """Writes the results and the plots. Returns a text that names the written files."""
    time = run.started.replace(":", "")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{time}.json"
    file.write_text(json.dumps(run.as_dict(), indent=2) + "\n")
    drawn = plots(run)
    for name, drawing in drawn.items():
        (folder / f"{time}-{name}.svg").write_text(drawing)
    return f"{file}, and {len(drawn)} plots to {folder / time}-*.svg"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "measures", nargs="*", metavar="MEASURE", help=f"any of: {', '.join(MEASURES)} (none: all)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="short rounds that only show that the bench works. Their figures mean little",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="the number of rounds of each measure. Without it, a few, and ten if a figure is near its mark",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="a PostgreSQL whose role may create databases. Without it, an embedded one is used",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    options = parser.parse_args()
    unknown = [name for name in options.measures if name not in MEASURES]
    if unknown:
        parser.error(f"there is no measure {unknown[0]!r}; there are: {', '.join(MEASURES)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _measured(options: argparse.Namespace) -> tuple[Run, str]:
    plan = Plan.quick() if options.quick else Plan()
    if options.rounds is not None:
        plan = replace(plan, rounds=options.rounds, rounds_near_a_mark=options.rounds)
    wanted = [name for name in MEASURES if name in options.measures or not options.measures]
    # A closed terminal or a supervisor must not leave processes behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with arena(options.database) as place:
        return asyncio.run(_run(place, plan, wanted, options))


async def _run(place: Arena, plan: Plan, wanted: list[str], options: argparse.Namespace) -> tuple[Run, str]:
    """Runs the measures. Returns all figures, and where they were written: after each measure, in case a later one fails."""
    started, written = datetime.now(UTC).isoformat(timespec="seconds"), ""
    amounts = {name: value for name, value in asdict(plan).items() if name != "begun"}
    said = {"measures": wanted, "quick": options.quick, **amounts}
    async with place.template():
        run = Run(started, await machine.facts(place), said)
        for name in wanted:
            run = replace(run, figures=[*run.figures, *await MEASURES[name](place, plan)])
            written = _write(run, options.results)
    return run, written


if __name__ == "__main__":
    sys.exit(main())
