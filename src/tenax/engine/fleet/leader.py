"""Elects the server that looks after the fleet. It holds a lease on that: a server that is killed, disconnected or
stopped loses it within seconds, which a lock held by a connection would not guarantee."""

from __future__ import annotations

import uuid
from time import monotonic

import structlog

from tenax.engine.context import EngineContext
from tenax.store import service

LEASE = 4.0
"""Seconds of the lease. It is renewed every second."""
_log = structlog.get_logger("tenax.leader")


class Leadership:
    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._id = str(uuid.uuid4())
        self.leads = False
        self._asked = False
        self._until = 0.0

    @property
    def is_sure(self) -> bool:
        """True if no other server can lead now. A server that was stopped for a while is not sure until it has asked."""
        return self.leads and monotonic() < self._until

    async def renew(self) -> bool:
        """Returns whether this server leads for the next seconds. The leader also records that a server is alive."""
        settings = self._context.settings
        until = monotonic() + LEASE
        async with self._context.transaction() as tx:
            leads = await service.lead(tx, self._id, LEASE)
            if leads:
                await service.beat_service(tx, settings.lease, settings.probe_after)
        if leads != self.leads and self._asked:
            _log.info("this server leads now" if leads else "this server no longer leads")
        self.leads, self._asked, self._until = leads, True, until
        return leads

    async def resign(self) -> None:
        """Gives up the lease, so that another server need not wait for its end."""
        if self.leads:
            self.leads = False
            async with self._context.transaction() as tx:
                await service.stop_leading(tx, self._id)
