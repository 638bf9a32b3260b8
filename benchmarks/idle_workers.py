"""Runs many idle workers in one process, each with its own connections to the server, until SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal

from tenax.cli.process.parent import under_supervision
from tenax.worker.transport import HttpTransport
from tenax.worker.worker import Worker


async def idle(url: str, count: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    transports = [HttpTransport(url) for _ in range(count)]
    workers = [
        Worker(transport, name=f"idle-{os.getpid()}-{n}", runtimes=("python",))
        for n, transport in enumerate(transports)
    ]
    await asyncio.gather(*(worker.run(stop) for worker in workers))
    for transport in transports:
        await transport.close()


def main() -> None:
    under_supervision()
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(idle(options.server, options.count))


if __name__ == "__main__":
    main()
