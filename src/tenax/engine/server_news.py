"""Defines the messages between servers. Servers may have different versions, so unknown fields are ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
import structlog

IDS_IN_A_MESSAGE = 50  # execution ids in a message; with more, any execution may have changed
_log = structlog.get_logger("tenax.news")


@dataclass(slots=True)
class ServerNews:
    """Holds the changes since the last message to the other servers."""

    ready: bool = False
    restricted: bool = False
    fleet: bool = False
    server_steps: bool = False
    messages: bool = False
    due_in: float | None = None
    executions: set[int] = field(default_factory=set)
    requests: bool = False
    """An application has submitted executions in its own transaction. `tenax.submit` sends this to all servers."""

    def add(self, more: ServerNews) -> None:
        self.ready |= more.ready
        self.restricted |= more.restricted
        self.fleet |= more.fleet
        self.server_steps |= more.server_steps
        self.messages |= more.messages
        if more.due_in is not None:
            self.due_in = more.due_in if self.due_in is None else min(self.due_in, more.due_in)
        self.executions |= more.executions

    @property
    def urgent(self) -> bool:
        """Returns whether the other servers have something to do."""
        return bool(self.ready or self.restricted or self.fleet or self.server_steps or self.messages) or (
            self.due_in is not None
        )

    def as_text(self, sender: str) -> str:
        ids: Any = sorted(self.executions) if len(self.executions) <= IDS_IN_A_MESSAGE else "*"
        body = {
            "from": sender,
            "ready": self.ready,
            "special": self.restricted,
            "fleet": self.fleet,
            "server_steps": self.server_steps,
            "messages": self.messages,
            "due_in": self.due_in,
            "executions": ids,
        }
        return orjson.dumps(body).decode()


class ServerMessage(NamedTuple):
    news: ServerNews
    executions: set[int] | None
    """The executions that have changed. None means that any may have."""


class NewsReader:
    """Reads the messages of other servers. It logs each unknown thing once."""

    def __init__(self, own_name: str) -> None:
        self._own_name = own_name
        self._complained: set[str] = set()

    def read(self, message: str) -> ServerMessage | None:
        """Reads a message. Returns None for this server's own messages and for unreadable ones.

        Nothing is lost by that, because a server regularly checks everything that it may have missed.
        """
        try:
            body = orjson.loads(message)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict):
            self._complain("a message that is not a JSON object")
            return None
        if body.pop("from", None) == self._own_name:
            return None
        news = ServerNews(
            ready=self._flag(body, "ready"),
            restricted=self._flag(body, "special"),
            fleet=self._flag(body, "fleet"),
            server_steps=self._flag(body, "server_steps"),
            messages=self._flag(body, "messages"),
            due_in=self._seconds(body.pop("due_in", None)),
        )
        news.requests = "requests" in body and self._flag(body, "requests")
        executions = self._ids(body.pop("executions", []))
        for name in body:
            self._complain(f"the field {name!r}")
        return ServerMessage(news, executions)

    def _flag(self, body: dict[str, Any], name: str) -> bool:
        """Removes a flag from the message and returns it. A value that is no boolean counts as true, since a needless check costs little."""
        value = body.pop(name, False)
        if not isinstance(value, bool):
            self._complain(f"a field {name!r} that is neither true nor false")
        return value is not False

    def _seconds(self, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return max(0.0, float(value))
        self._complain("a field 'due_in' that is no number")
        return 0.0

    def _ids(self, value: Any) -> set[int] | None:
        if value == "*":
            return None
        if isinstance(value, list) and all(isinstance(one, int) for one in value):
            return set(value)
        self._complain("a field 'executions' that is no list of numbers")
        return None

    def _complain(self, what: str) -> None:
        what = what[:100]
        if what not in self._complained and len(self._complained) < _MOST_COMPLAINTS:
            self._complained.add(what)
            _log.warning(
                "another server has sent something that this one does not know; it is ignored",
                what=what,
                remedy="do all servers on this database run the same version of Tenax?",
            )


_MOST_COMPLAINTS = 20
"""Complaints that are logged. The limit keeps a sender from filling the memory or the log."""
