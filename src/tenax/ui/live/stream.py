"""Sends the changes of a page to one browser, as server-sent events."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenax.ui.live.fragments import event_text
from tenax.ui.live.topics import Subject, Topic, Topics
from tenax.web.long_poll import LongPolls, Stopping

HEARTBEAT = 15.0
"""Seconds after which a stream without news sends a comment, so that both sides notice a lost connection."""
TROUBLE = "tenax:trouble"
"""The event that tells a page why it is not up to date."""


class LiveStream(Response):
    """Answers with events until the browser leaves or the server stops.

    A slow browser costs no memory: the next event is written when the last one was sent, and it leads to the newest state at once.
    """

    media_type = "text/event-stream"

    def __init__(self, topics: Topics, long_polls: LongPolls, subject: Subject) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._topics = topics
        self._long_polls = long_polls
        self._subject = subject

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._long_polls.closing:
            raise Stopping
        request = Request(scope, receive)
        known = request.headers.get("last-event-id", "")
        async with self._topics.reading(self._subject) as topic:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._long_polls.wait(request, _send_changes(topic, known, send))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_changes(topic: Topic, known: str, send: Send) -> None:
    """Sends events for ever. `known` is the id of the last event that the browser has."""
    await _write(send, b"retry: 1000\n\n")
    seen: object = (None, None)
    while True:
        await topic.next(seen, HEARTBEAT)
        if topic.state == seen:
            await _write(send, b": the connection is alive\n\n")
            continue
        seen = topic.state
        if topic.trouble is not None:
            await _write(send, event_text(topic.trouble.message, event=TROUBLE))
        elif topic.rendered is not None:
            event = topic.rendered.event_after(known)
            known = topic.rendered.id
            await _write(send, event or b": nothing has changed\n\n")


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
