"""Kills the process groups of a worker that died without ending them. It is a process of its own: `python -I -S guard.py`.

The worker holds the other end of stdin, and writes the lines `+PGID FOLDER` and `-PGID`. The end of the input means that the
worker is gone: the guard then kills the groups and removes their folders. It imports next to nothing, so that it starts in
milliseconds.
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
    import shutil  # imported only when needed, so that the guard starts quickly

    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
