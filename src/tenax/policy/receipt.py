"""The receipt of an item: whoever shows it may speak of the item's attempts."""

from __future__ import annotations

import hashlib
from functools import lru_cache


def receipt(secret: bytes, execution_id: int, item_id: int) -> str:
    """The item's receipt token: the same over all its attempts, and not to be guessed."""
    digest = _keyed(secret).copy()
    digest.update(b"item %d %d" % (execution_id, item_id))
    return digest.hexdigest()


@lru_cache(maxsize=16)
def _keyed(secret: bytes) -> hashlib.blake2b:
    """What has taken in the key need not do so again."""
    return hashlib.blake2b(key=secret, digest_size=16)
