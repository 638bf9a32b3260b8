"""Becomes another program as a child of the bench: `python -m benchmarks.peers.become PROGRAM ARGUMENT ...`.

It ends with the bench: the kernel keeps the signal for the parent's death after the exec.
"""

from __future__ import annotations

import os
import sys

from tenax.cli.process.parent import under_supervision

if __name__ == "__main__":
    under_supervision()
    os.execvp(sys.argv[1], sys.argv[1:])
