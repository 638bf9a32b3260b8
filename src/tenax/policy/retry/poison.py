"""Which items kill their workers, and which are next to be found out."""

from __future__ import annotations

from tenax.model.decision import Controls, Ledger


def is_poison(ledger: Ledger, controls: Controls) -> bool:
    """Whether it has cost so many different workers their lease; or as many leases, and every worker there is for it."""
    limit, lost_by = controls.poison_after, len(ledger.lost_by)
    if not limit or controls.lost_worker is None:
        return False
    if lost_by >= limit:
        return True
    return controls.able is not None and losses(ledger) >= limit and lost_by >= controls.able


def is_suspect(ledger: Ledger, poison_after: int) -> bool:
    """Whether one more lease lost over it may be one too many; 0: none ever is."""
    lost = max(len(ledger.lost_by), losses(ledger) if ledger.lost_by else 0)
    return bool(lost) and lost + 1 >= poison_after > 0


def losses(ledger: Ledger) -> int:
    return ledger.by_class.get("worker_lost", 0)
