"""Prints the findings of the lint as warnings, beside what a command prints itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tenax.cli.output import say
from tenax.policy.lint.finding import LintFinding
from tenax.policy.lint.lint import INVALID

SHOWN = 5
"""Findings that a command shows. `tenax lint` shows all of them."""


def say_warnings(findings: Sequence[LintFinding]) -> None:
    """Prints the first findings on stderr. The errors of a file that is not valid are left to the command itself."""
    if any(one.code == INVALID for one in findings):
        return
    for one in findings[:SHOWN]:
        say(str(one), stream=sys.stderr)
    if len(findings) > SHOWN:
        say(f"{len(findings) - SHOWN} more: `tenax lint` shows them with their remedies", stream=sys.stderr)
