"""Follows pages of the dashboard as 200 browsers would, until SIGTERM. Says "watching" once each page has sent its first event."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from itertools import cycle, islice
from urllib.parse import urlsplit


async def follow(url: str, path: str, begun: asyncio.Queue[None]) -> None:
    """Reads the events of a page. The first one is the state of the page."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {parts.netloc}\r\naccept: text/event-stream\r\n\r\n".encode())
    status = await reader.readline()
    if b" 200 " not in status:
        sys.exit(f"{path} was answered {status.decode().strip()}")
    await reader.readuntil(b"data: ")
    begun.put_nowait(None)
    while await reader.read(65_536):
        pass


async def watch(url: str, paths: list[str], count: int) -> None:
    stop, begun = asyncio.Event(), asyncio.Queue[None]()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with asyncio.TaskGroup() as group:
        followers = [group.create_task(follow(url, path, begun)) for path in islice(cycle(paths), count)]
        for _ in followers:
            await begun.get()
        sys.stdout.write("watching\n")
        sys.stdout.flush()
        await stop.wait()
        for follower in followers:
            follower.cancel()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(watch(options.url, options.paths, options.count))


if __name__ == "__main__":
    main()
