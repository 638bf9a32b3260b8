"""Run on its own (`python -I -S gate.py COMMAND...`): becomes the command once a first line arrives on stdin.

It does what the shell does in `processes.py`, for environments that a shell would not pass on whole.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    while (byte := os.read(0, 1)) != b"\n":  # no byte beyond the line: the rest is the command's
        if not byte:
            sys.exit(125)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and so would the command
        signal.signal(number, signal.SIG_DFL)
    command = sys.argv[1:]
    try:
        os.execvpe(command[0], command, _environment())  # noqa: S606 - to become the command is all there is to do
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(126)


def _environment() -> dict[bytes, bytes]:
    """As it was handed over: Python adds an LC_CTYPE to its own where the locale is C."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib would double the time to start
        pairs = (entry.partition(b"=") for entry in file.read().split(b"\0") if entry)
        return {name: value for name, _, value in pairs}


if __name__ == "__main__":
    main()
