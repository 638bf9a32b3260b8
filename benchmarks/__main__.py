"""`python -m benchmarks [MEASURE ...]`: runs the measures, prints the table, writes the results."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    fairness,
    fan_out,
    graph,
    latency,
    lateness,
    machine,
    recovery,
    rolling,
    start,
    throughput,
)
from benchmarks.arena import Arena, arena
from benchmarks.children import ChildFailed
from benchmarks.plan import Plan
from benchmarks.report import Figure, Run, machine_lines, table
from tenax.errors import TenaxError

MEASURES: dict[str, Callable[[Arena, Plan], Awaitable[list[Figure]]]] = {
    throughput.MEASURE: throughput.measure,
    latency.MEASURE: latency.measure,
    lateness.MEASURE: lateness.measure,
    fan_out.MEASURE: fan_out.measure,
    graph.MEASURE: graph.measure,
    fairness.MEASURE: fairness.measure,
    recovery.MEASURE: recovery.measure,
    rolling.MEASURE: rolling.measure,
    start.MEASURE: start.measure,
}
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    options = _options()
    try:
        run = _measured(options)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.stderr.write("stopped; nothing was written\n")
        return 130
    except (ChildFailed, TenaxError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except TimeoutError:
        sys.stderr.write(
            "a round did not end in time: is the machine overloaded? `--quick` runs shorter rounds\n"
        )
        return 1
    file = options.results / f"{run.started.replace(':', '')}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(run.as_dict(), indent=2) + "\n")
    sys.stdout.write(f"{machine_lines(run.machine)}\n\n{table(run.figures)}\n\nwritten to {file}\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "measures", nargs="*", metavar="MEASURE", help=f"any of: {', '.join(MEASURES)} (none: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="short rounds, to see that it works; the figures mean little"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each measure")
    parser.add_argument(
        "--database",
        metavar="URL",
        help="a PostgreSQL whose role may create databases (none: an embedded one)",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    options = parser.parse_args()
    unknown = [name for name in options.measures if name not in MEASURES]
    if unknown:
        parser.error(f"there is no measure {unknown[0]!r}; there are: {', '.join(MEASURES)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _measured(options: argparse.Namespace) -> Run:
    plan = Plan.quick() if options.quick else Plan()
    if options.rounds is not None:
        plan = replace(plan, rounds=options.rounds)
    wanted = [name for name in MEASURES if name in options.measures or not options.measures]
    # A terminal that closes, or a supervisor, must not leave processes behind either.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with arena(options.database) as place:
        return asyncio.run(_run(place, plan, wanted, quick=options.quick))


async def _run(place: Arena, plan: Plan, wanted: list[str], *, quick: bool) -> Run:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    figures: list[Figure] = []
    async with place.template():
        facts = await machine.facts(place)
        for name in wanted:
            figures += await MEASURES[name](place, plan)
    options = {"measures": wanted, "quick": quick, "rounds": plan.rounds, "jobs": plan.jobs, "raw_jobs": plan.raw_jobs,
               "seconds": plan.seconds, "burst": plan.burst, "items": plan.items,
               "crowd": plan.crowd, "history": plan.history}  # fmt: skip
    return Run(started, facts, options, figures)


if __name__ == "__main__":
    sys.exit(main())
