"""Runs the command line. Each command is in a module of its own, which is imported when the command is called.

Exit codes: 0 success; 1 the execution failed, history breaks a law, or an alert fires; 2 wrong usage or an invalid file; 3 something that the command
needs is not available (a server, a database, space on the disk, a valid token); 70 a bug in Tenax; 130 after Ctrl-C; 141 after a closed
pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    from tenax.cli.errors import run_command
    from tenax.credentials.private_variables import hide_private_variables

    hide_private_variables()
    sys.exit(run_command(sys.argv[1:] if arguments is None else arguments))
