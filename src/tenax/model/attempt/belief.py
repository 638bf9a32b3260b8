"""Removes from reported failures the facts that only the server can know.

A worker or a callee cannot know of a lost worker, an expired queue entry or a failed child. `infra_attempts` may exempt such a failure,
and `retry_when` may not apply to it, so a report cannot claim it.
"""

from __future__ import annotations

from msgspec.structs import replace

from tenax.model.attempt.outcome import INFRASTRUCTURE, Facts
from tenax.model.attempt.reasons import SERVER_REASONS


def believed_facts(facts: Facts) -> Facts:
    """Returns the facts without those that only the server may state: some classes and reasons, and the failure of a child."""
    if facts.child is not None:
        facts = replace(facts, child=None)
    if facts.failure_class in INFRASTRUCTURE:
        return replace(facts, failure_class=None, reason=None)
    if facts.reason in SERVER_REASONS:
        return replace(facts, reason=None)
    return facts
