"""Lends the client of an application to code without an event loop."""

from __future__ import annotations

import asyncio

from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient


class LentClient(SyncClient):
    """Is the client of an application, which also closes it."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self._loop = loop

    def close(self) -> None:
        """Does nothing: the client belongs to the application."""
