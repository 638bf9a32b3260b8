"""Which items are next to be quarantined."""

from __future__ import annotations

from tenax.model.decision import Ledger


def is_suspect(ledger: Ledger, poison_after: int) -> bool:
    """Whether one more worker lost over it would be one too many; 0: none ever is."""
    lost_by = len(ledger.lost_by)
    return bool(lost_by) and lost_by + 1 >= poison_after > 0
