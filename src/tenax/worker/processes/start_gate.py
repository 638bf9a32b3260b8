"""Becomes the given command when a first line arrives on stdin: `python -I -S start_gate.py COMMAND...`.

It takes the place of the shell in `processes.py` for environments that a shell would not pass on completely.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    while (
        byte := os.read(0, 1)
    ) != b"\n":  # one byte at a time: all that follows the line belongs to the command
        if not byte:
            sys.exit(125)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
        signal.signal(number, signal.SIG_DFL)
    command = sys.argv[1:]
    try:
        os.execvpe(command[0], command, _environment())  # noqa: S606 - the purpose of this program is to become the command
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(126)


def _environment() -> dict[bytes, bytes]:
    """Returns the environment as the worker passed it. Python adds LC_CTYPE to its own environment if the locale is C."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib would double the time to start
        pairs = (entry.partition(b"=") for entry in file.read().split(b"\0") if entry)
        return {name: value for name, _, value in pairs}


if __name__ == "__main__":
    main()
