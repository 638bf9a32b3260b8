"""Writes and reads the audit: what people did. An entry is written in the transaction of its action."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.model.events import timestamp
from tenax.model.events.audit import AuditEntry, AuditFilter, AuditNames, NewEntry
from tenax.model.json_text import decode, encode
from tenax.store.connect import Connection
from tenax.store.statements import sql

NAMES_LISTED = 200  # actors, and actions, that are listed


async def insert_entries(tx: Connection, entries: Sequence[NewEntry]) -> None:
    texts = [None if one.data is None else encode(one.data) for one in entries]
    *columns, _ = map(list, zip(*entries, strict=True))
    await tx.execute(sql("insert_audit"), *columns, texts)


async def list_entries(
    tx: Connection, wanted: AuditFilter, *, before: int | None, after: int | None, limit: int
) -> list[AuditEntry]:
    """Lists entries, the newest first: those before an entry, or the ones next after an entry."""
    statement, place = (sql("list_audit"), before) if after is None else (sql("list_newer_audit"), after)
    terms = (wanted.actor, wanted.action, wanted.kind, wanted.target, wanted.since, wanted.until)
    rows = await tx.fetch(statement, place, *terms, limit)
    found = [
        AuditEntry(
            id=row["id"],
            at=timestamp(row["at"]),
            actor=row["actor"],
            action=row["action"],
            kind=row["kind"],
            target=row["target"],
            step=row["step"],
            item=row["item_no"],
            reason=row["reason"],
            data=decode(row["data"]) or {},
        )
        for row in rows
    ]
    return found if after is None else found[::-1]


async def list_names(tx: Connection) -> AuditNames:
    """Lists the actors and the actions that occur, at most some hundreds."""
    found: dict[str, list[str]] = {"actor": [], "action": []}
    for row in await tx.fetch(sql("list_audit_names"), NAMES_LISTED):
        found[row["what"]].append(row["name"])
    return AuditNames(actors=found["actor"], actions=found["action"])
