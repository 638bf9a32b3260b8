"""The laws that every history obeys, as pure functions: events, rows and the plan of an execution in, violations out.

`tenax verify` holds all of history against them. They are written down in `docs/guarantees.md`, from `LAWS`.
"""

from tenax.policy.laws.checks import ExecutionCheck
from tenax.policy.laws.law import LAWS, Law, LawViolation, VerifyTally

__all__ = ["LAWS", "ExecutionCheck", "Law", "LawViolation", "VerifyTally"]
