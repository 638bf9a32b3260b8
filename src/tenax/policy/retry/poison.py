"""Recognises items that kill their workers, and suspects, which may be such items."""

from __future__ import annotations

from tenax.model.decision import Controls, Ledger


def is_poison(ledger: Ledger, controls: Controls) -> bool:
    """Returns whether the item has cost so many different workers their lease, or has lost so many leases and every
    worker that could run it."""
    limit, lost_by = controls.poison_after, len(ledger.lost_by)
    if not limit or controls.lost_worker is None:
        return False
    if lost_by >= limit:
        return True
    return controls.able is not None and losses(ledger) >= limit and lost_by >= controls.able


def is_suspect(ledger: Ledger, poison_after: int) -> bool:
    """Returns whether one more lost lease may quarantine the item. With 0 no item is a suspect."""
    lost = max(len(ledger.lost_by), losses(ledger) if ledger.lost_by else 0)
    return bool(lost) and lost + 1 >= poison_after > 0


def losses(ledger: Ledger) -> int:
    return ledger.by_class.get("worker_lost", 0)
