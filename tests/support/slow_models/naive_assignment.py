"""Assigns items to workers in a slow and obvious way, for comparison."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.policy.dispatch.assignment import Candidate, Offer


def slow_assign(ready: Sequence[Candidate], asking: Sequence[Offer]) -> list[tuple[int, int]]:
    """Assigns each item to the best of all offers, and then updates the offers."""
    given_away: list[tuple[Candidate, Offer]] = []
    for one in ready:
        fit = []
        for order, offer in enumerate(asking):
            of_offer = [item for item, taken in given_away if taken is offer]
            of_worker = [item for item, taken in given_away if taken.worker == offer.worker]
            has_suspect = offer.suspects or any(item.suspect for item in of_worker)
            if (
                len(of_offer) < offer.slots
                and one.queue in offer.able.queues
                and one.runtime in offer.able.runtimes
                and all(offer.able.labels.get(key) == value for key, value in (one.labels or {}).items())
                and offer.worker not in one.refused_by
                and not (one.suspect and has_suspect)
            ):
                fit.append((offer.rank, offer.depth + len(of_worker), order, offer))
        if fit:
            given_away.append((one, min(fit, key=lambda entry: entry[:3])[3]))
    return [(one.id, offer.request_no) for one, offer in given_away]
