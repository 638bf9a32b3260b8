"""Compares the parts of a page with what a browser has, and writes the event that brings it up to date."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Digests = Mapping[str, str]
"""A short digest of each fragment that a browser has, by the id of its element."""
MOST_KNOWN = 8000  # characters of an id that a browser may send back
_LINE_END = re.compile(r"\r\n|\r|\n")  # what ends a line of an event
KEPT_EVENTS = 4  # events that are kept for other streams with the same state


@dataclass(frozen=True)
class RenderedPage:
    """Is one state of a page. Its id names the digest of each fragment, so a browser that comes back gets just what has changed."""

    fragments: Mapping[str, str]
    """The HTML of each element that is updated, by the element's id. The HTML includes the element."""
    digests: Digests
    id: str
    _events: dict[str, bytes] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, fragments: Mapping[str, str]) -> RenderedPage:
        digests = {
            name: hashlib.blake2s(html.encode(), digest_size=6).hexdigest()
            for name, html in fragments.items()
        }
        return cls(fragments, digests, ",".join(f"{name}={digest}" for name, digest in digests.items()))

    def event_after(self, known: str) -> bytes:
        """Returns the event for a browser whose last event had the id `known`. It is empty if nothing has changed."""
        if known == self.id:
            return b""
        event = self._events.get(known)
        if event is None:
            event = self._write(read_digests(known))
            if len(self._events) < KEPT_EVENTS:
                self._events[known] = event
        return event

    def _write(self, known: Digests) -> bytes:
        parts = [
            f'<hx-partial hx-target="#{name}" hx-swap="outerMorph">{html}</hx-partial>'
            for name, html in self.fragments.items()
            if known.get(name) != self.digests[name]
        ]
        return event_text("\n".join(parts), event_id=self.id)


def read_digests(event_id: str) -> Digests:
    """Reads the id of an event that a browser sends back. Anything else is an id of nothing."""
    if len(event_id) > MOST_KNOWN:
        return {}
    return dict(part.split("=", 1) for part in event_id.split(",") if "=" in part)


def event_text(data: str, *, event: str | None = None, event_id: str | None = None) -> bytes:
    """Writes a server-sent event."""
    lines = [f"event: {event}"] if event else []
    lines += [f"data: {line}" for line in _LINE_END.split(data)]
    lines += [f"id: {event_id}"] if event_id is not None else []
    return ("\n".join(lines) + "\n\n").encode()
