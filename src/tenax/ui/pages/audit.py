"""Shows what people did: who, to what, when and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.errors import TenaxError, UsageError
from tenax.model.durations import parse_since
from tenax.model.events.audit import AUDIT_KINDS, AuditEntry, AuditFilter, read_target
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import answer_page, engine
from tenax.ui.words import query

PAGE_SIZE = 50
PLACES = {
    "execution": "/executions",
    "dead_letters": "/dead-letters",
    "worker": "/workers",
    "queue": "/queues",
    "workflow": "/workflows",
    "bulk": "/bulk",
}
"""The address of the pages of each kind of target. The others have none."""
KIND_WORDS = {"dead_letters": "dead letter", "bulk": "bulk job"}
SAID_APART = ("name",)
"""The data that the page shows beside the target."""
router = APIRouter(prefix="/audit")
Words = Annotated[str, Query(max_length=200, pattern=r"^[^\x00]*$")]
Place = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


@dataclass(frozen=True, slots=True)
class AuditFields:
    """Holds the fields of the filter, as they are in the address."""

    actor: str
    action: str
    kind: str
    target: str
    since: str
    until: str

    def as_filter(self) -> AuditFilter:
        """Reads the fields. Raises UsageError."""
        if self.target and not self.kind:
            raise UsageError(
                "the filter names a target without its kind", remedy="choose what kind of target it is"
            )
        kind, _ = read_target(self.kind or None)
        return AuditFilter(
            actor=self.actor or None,
            action=self.action or None,
            kind=kind,
            target=self.target or None,
            since=_moment("since", self.since),
            until=_moment("until", self.until),
        )

    @property
    def given(self) -> dict[str, str]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


@router.get("")
async def show(
    request: Request,
    actor: Words = "",
    action: Words = "",
    kind: Words = "",
    target: Words = "",
    since: Words = "",
    until: Words = "",
    before: Place = None,
    after: Place = None,
) -> Response:
    """Shows one page of the audit. A wrong filter is shown beside its fields, with the list empty."""
    fields = AuditFields(*(text.strip() for text in (actor, action, kind, target, since, until)))
    here, error = engine(request), None
    entries: list[AuditEntry] = []
    places: dict[str, str | None] = dict.fromkeys(("newest", "newer", "older"))
    try:
        found = await here.audit(fields.as_filter(), before=before, after=after, limit=PAGE_SIZE + 1)
        entries, places = _page(found, fields, before, after)
    except TenaxError as wrong:
        if wrong.http_status != 400:
            raise
        error = wrong
    names = await here.audit_names()
    return answer_page(
        request,
        "audit/list.html",
        status=200 if error is None else error.http_status,
        title="Audit",
        fields=fields,
        actors=_choices(names.actors),
        actions=_choices(names.actions),
        kinds={name: KIND_WORDS.get(name, name) for name in AUDIT_KINDS},
        entries=[_shown(one) for one in entries],
        error=None if error is None else error.problem(),
        **places,
    )


def _page(
    found: Sequence[AuditEntry], fields: AuditFields, before: int | None, after: int | None
) -> tuple[list[AuditEntry], dict[str, str | None]]:
    """Returns the entries of a page, and the addresses of the pages beside it. `found` has one more than a page, if there are more."""
    more = len(found) > PAGE_SIZE
    entries = found[-PAGE_SIZE:] if after is not None else found[:PAGE_SIZE]
    is_newest = before is None and (after is None or not more)
    has_older = bool(entries) and (more if after is None else True)
    return list(entries), {
        "newest": None if is_newest else f"/audit{query(**fields.given)}",
        "newer": None if is_newest or not entries else f"/audit{query(**fields.given, after=entries[0].id)}",
        "older": f"/audit{query(**fields.given, before=entries[-1].id)}" if has_older else None,
    }


def _moment(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return parse_since(text, datetime.now(UTC))
    except ValueError as error:
        raise UsageError(
            f"{name}: {error}", remedy="write 2026-01-31T12:00:00Z, or how long ago: 30m, 1h, 7d"
        ) from None


def _shown(entry: AuditEntry) -> dict[str, Any]:
    item = "" if entry.item is None else f"[{entry.item}]"
    data = {name: value for name, value in entry.data.items() if name not in SAID_APART}
    return {
        "entry": entry,
        "kind": KIND_WORDS.get(entry.kind, entry.kind),
        "name": entry.data.get("name"),
        "address": target_address(entry),
        "place": None if entry.step is None else f"{entry.step}{item}",
        "made": entry.data.get("execution") if entry.kind == "execution" else None,
        "data": data,
    }


def target_address(entry: AuditEntry) -> str | None:
    """Returns the address of the page of what an action was done to. Returns None if it has none."""
    if entry.target is None or entry.kind not in PLACES:
        return "/tokens" if entry.kind == "token" else None
    address = f"{PLACES[entry.kind]}/{quote(entry.target, safe='')}"
    if entry.kind == "execution" and entry.step is not None:
        address += f"/steps/{quote(entry.step, safe='')}"
    return address


def _choices(names: Sequence[str]) -> dict[str, str]:
    return {name: name for name in names}
