"""Computes the receipt of an item, which allows its holder to report on the item's attempts."""

from __future__ import annotations

import hashlib
from functools import lru_cache


def receipt(secret: bytes, execution_id: int, item_id: int) -> str:
    """Returns the receipt token of an item. All attempts share it, and it cannot be guessed."""
    digest = _keyed(secret).copy()
    digest.update(b"item %d %d" % (execution_id, item_id))
    return digest.hexdigest()


@lru_cache(maxsize=16)
def _keyed(secret: bytes) -> hashlib.blake2b:
    """Returns a hash that has taken in the key, so that this is done once."""
    return hashlib.blake2b(key=secret, digest_size=16)
