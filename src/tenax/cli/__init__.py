"""The command line: one file for each group of commands, loaded when one of them is called.

Exit codes: 0 done; 1 the execution failed, or history breaks a law; 2 wrong usage or an invalid file; 3 what is needed cannot be had (a server, a
database, a disk with room, a token that is accepted); 70 a bug in Tenax; 130 and 141 as after Ctrl-C and a closed pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    from tenax.cli.errors import run_command
    from tenax.private_variables import hide_private_variables

    hide_private_variables()
    sys.exit(run_command(sys.argv[1:] if arguments is None else arguments))
