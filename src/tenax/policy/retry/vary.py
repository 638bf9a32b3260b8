"""`vary`: other inputs for later attempts. Entry k is for the k-th counted attempt, and on until the next entry."""

from __future__ import annotations

import json
from typing import Any

from tenax.model.attempt.outcome import INFRASTRUCTURE
from tenax.model.decision import Ledger
from tenax.model.policy import Policy


def overrides_of(policy: Policy) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(text) for text in policy.vary)


def entry_for(policy: Policy, ledger: Ledger) -> int:
    """The entry (from 1) that the next attempt gets; 0 where there is none. A lost worker does not move it on."""
    lost = sum(count for name, count in ledger.by_class.items() if name in INFRASTRUCTURE)
    return min(1 + ledger.counted + ledger.exempted - lost, len(policy.vary))


def varied(policy: Policy, ledger: Ledger) -> dict[str, Any] | None:
    """What the record of the next attempt says: its entry and what that changes. None where there is no `vary`."""
    entry = entry_for(policy, ledger)
    return {"entry": entry, "override": json.loads(policy.vary[entry - 1])} if entry else None
