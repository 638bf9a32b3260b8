"""Holds the inputs of one decision, and makes the decision from them."""

from __future__ import annotations

import msgspec

from tenax.model.attempt.outcome import Outcome
from tenax.model.decision import NO_CONTROLS, Check, Controls, Decision, DelayParts, Ledger, Verdict
from tenax.policy.retry.resolve import CompiledPolicy, CompiledRule


class Case(msgspec.Struct, frozen=True, gc=False):
    """Holds the inputs of one decision."""

    policy: CompiledPolicy
    ledger: Ledger
    outcome: Outcome
    attempt: int
    elapsed: float
    controls: Controls
    roll: float
    execution_id: int
    step: str

    def decision(
        self,
        verdict: Verdict,
        rule: str,
        reason: str,
        after: Ledger,
        checks: tuple[Check, ...],
        *,
        delay: DelayParts | None = None,
        matched: CompiledRule | None = None,
    ) -> Decision:
        return Decision(
            verdict,
            rule,
            reason,
            checks,
            self.ledger,
            after,
            self.policy.policy.max_attempts,
            self.roll,
            self.attempt,
            self.execution_id,
            self.step,
            self.elapsed,
            # Default controls are always this one object, and are left out of the record.
            NO_CONTROLS if self.controls == NO_CONTROLS else self.controls,
            delay,
            None if matched is None else matched.index,
        )
