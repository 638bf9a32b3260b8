"""Finds the entry of `vary` that changes the inputs of an attempt. Entry k applies from the k-th counted attempt until the next entry."""

from __future__ import annotations

import json
from typing import Any

from tenax.model.attempt.outcome import INFRASTRUCTURE
from tenax.model.decision import Ledger
from tenax.model.policy import Policy


def overrides_of(policy: Policy) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(text) for text in policy.vary)


def entry_for(policy: Policy, ledger: Ledger) -> int:
    """Returns the entry (from 1) of the next attempt, or 0 if it has none. A lost worker does not advance the entry."""
    lost = sum(count for name, count in ledger.by_class.items() if name in INFRASTRUCTURE)
    return min(1 + ledger.counted + ledger.exempted - lost, len(policy.vary))


def varied(policy: Policy, ledger: Ledger) -> dict[str, Any] | None:
    """Returns the record of the next attempt's variation: the entry and the keys that it changes. Returns None without `vary`."""
    entry = entry_for(policy, ledger)
    return {"entry": entry, "override": json.loads(policy.vary[entry - 1])} if entry else None
