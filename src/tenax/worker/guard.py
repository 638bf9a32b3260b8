"""Run on its own (`python -I -S guard.py`): ends the process groups of a worker that died without ending them.

The worker holds the other end of stdin. Lines are `+PGID` and `-PGID`; the end of the input means that the worker is
gone, however it went. It imports next to nothing, so that it starts in milliseconds.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(0, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
