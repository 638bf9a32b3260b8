"""Runs an engine and a worker that speak without HTTP in one process, until SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys

import benchmarks.tasks  # noqa: F401 -- imported for the tasks it registers
import tenax.worker.executors.python  # noqa: F401 -- else it is read when the first attempt is measured
from benchmarks import workflows
from benchmarks.gate import wait_at_gate
from benchmarks.load import submit_steadily
from tenax.cli.process.parent import under_supervision
from tenax.embed import local_worker, open_engine
from tenax.settings import load_settings
from tenax.worker.collector import collect_rarely


async def work(options: argparse.Namespace) -> None:
    """Runs the engine and the worker. With a rate, it also submits executions."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_engine(load_settings()) as engine:
        await asyncio.to_thread(wait_at_gate)
        name = f"bench-{os.getpid()}"
        async with local_worker(engine, name=name, slots=options.slots, runtimes=("python",)):
            if options.source:
                source = getattr(workflows, options.source)
                await submit_steadily(
                    engine.submit,
                    source,
                    rate=options.rate,
                    seconds=options.seconds,
                    stamped=options.source == "STAMPED",
                )
                sys.stdout.write("submitted\n")
                sys.stdout.flush()
            await stop.wait()


def main() -> None:
    under_supervision()
    parser = argparse.ArgumentParser()
    parser.add_argument("--slots", type=int, default=500)
    parser.add_argument("--source")
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=10)
    import uvloop

    collect_rarely()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(parser.parse_args()))


if __name__ == "__main__":
    main()
