"""Checks every history against the laws, by pure functions. They take events, rows and the plan of an execution, and return violations.

`tenax verify` checks all of history. `docs/guarantees.md` lists the laws, from `LAWS`.
"""

from tenax.policy.laws.checks import ExecutionCheck
from tenax.policy.laws.law import LAWS, Law, LawViolation, VerifyTally

__all__ = ["LAWS", "ExecutionCheck", "Law", "LawViolation", "VerifyTally"]
