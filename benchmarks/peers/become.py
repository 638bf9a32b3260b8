"""`python -m benchmarks.peers.become PROGRAM ARGUMENT ...`: a child of the bench that goes on as another program.

It does not outlive the bench either: what the kernel was told of the parent's death stays true after the exec.
"""

from __future__ import annotations

import os
import sys

from tenax.cli.process.parent import under_supervision

if __name__ == "__main__":
    under_supervision()
    os.execvp(sys.argv[1], sys.argv[1:])
