"""Sends the changes of a page to one browser, as server-sent events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenax.ui.live.fragments import event_text
from tenax.ui.live.topics import Subject, Topic, Topics
from tenax.web.auth import TOKEN_CACHE_SECONDS
from tenax.web.long_poll import LongPolls, Stopping

HEARTBEAT = TOKEN_CACHE_SECONDS
"""Seconds after which a stream without news sends a comment. Both sides notice a lost connection by it, and the server looks whether the
person may still read the page."""
TROUBLE = "tenax:trouble"
"""The event that tells a page why it is not up to date."""
CURRENT = "tenax:current"
"""The event that tells a page that it is up to date again, and has changed in nothing."""
MayRead = Callable[[], Awaitable[bool]]


class LiveStream(Response):
    """Answers with events until the browser leaves, the server stops, or the person may no longer read the page.

    A slow browser costs no memory: the next event is written when the last one was sent, and it leads to the newest state at once.
    """

    media_type = "text/event-stream"

    def __init__(self, topics: Topics, long_polls: LongPolls, subject: Subject, may_read: MayRead) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._topics = topics
        self._long_polls = long_polls
        self._subject = subject
        self._may_read = may_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._long_polls.closing:
            raise Stopping
        request = Request(scope, receive)
        known = request.headers.get("last-event-id", "")
        async with self._topics.reading(self._subject) as topic:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._long_polls.wait(request, self._send_changes(topic, known, send))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_changes(self, topic: Topic, known: str, send: Send) -> None:
        """Sends events as long as the person may read them. `known` is the id of the last event that the browser has."""
        await _write(send, b"retry: 1000\n\n")
        seen: object = (None, None)
        while await self._may_read():
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
                await _write(send, event or event_text("", event=CURRENT))


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
