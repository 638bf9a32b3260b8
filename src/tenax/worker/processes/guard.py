"""Run on its own (`python -I -S guard.py`): ends the process groups of a worker that died without ending them.

The worker holds the other end of stdin. Lines are `+PGID FOLDER` and `-PGID`; the end of the input means that the
worker is gone, however it went: the groups are killed and their folders removed. It imports next to nothing, so that it
starts in milliseconds.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folders: dict[int, str] = {}
    rest = b""
    while chunk := os.read(0, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            group, _, folder = os.fsdecode(line[1:]).partition(" ")
            if line[:1] == b"+":
                folders[int(group)] = folder
            else:
                folders.pop(int(group), None)
    for left in folders:
        _kill(left)
    for folder in filter(None, folders.values()):
        _remove(folder)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _remove(folder: str) -> None:
    import shutil  # not before it is needed: see above

    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
