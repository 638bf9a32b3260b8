"""Views of the audit: who did what, to what, when and why."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.context import EngineContext
from tenax.model.events.audit import AuditEntry, AuditFilter, AuditNames
from tenax.store import audit

NOTHING_ASKED = AuditFilter()


async def list_audit(
    context: EngineContext,
    wanted: AuditFilter = NOTHING_ASKED,
    *,
    before: int | None = None,
    after: int | None = None,
    limit: int = 50,
) -> Sequence[AuditEntry]:
    """Lists what people did, the newest first: the entries before one, or those next after one."""
    async with context.view() as tx:
        return await audit.list_entries(tx, wanted, before=before, after=after, limit=limit)


async def audit_names(context: EngineContext) -> AuditNames:
    """Lists the actors and the actions that occur."""
    async with context.view() as tx:
        return await audit.list_names(tx)
