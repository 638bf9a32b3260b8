"""Tests the memory for large bodies: no sender can take all of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import structlog

from tenax.errors import Busy
from tenax.server.middleware import BodyRoom, EntryMiddleware, _sender

CALLBACK = "/v1/callbacks/5/6/1/receipt"


def test_one_sender_has_half_of_it():
    room = BodyRoom(100)
    room.take(1, 50)
    with pytest.raises(Busy, match="body_memory"):
        room.take(1, 1)
    room.take(2, 50)
    with pytest.raises(Busy):
        room.take(3, 1)
    room.give_back(1, 50)
    room.take(3, 50)


def test_callbacks_are_told_apart_by_their_items():
    """One callee with slow bodies must not shut out those of other items."""
    senders = {
        path: _sender({"path": path}) for path in (CALLBACK, "/v1/callbacks/5/7/1/receipt", "/healthz")
    }
    assert senders == {
        CALLBACK: "/v1/callbacks/5/6",
        "/v1/callbacks/5/7/1/receipt": "/v1/callbacks/5/7",
        "/healthz": None,
    }
    assert _sender({"path": "/v1/callbacks/5/6/2/receipt"}) == senders[CALLBACK]


def test_a_body_that_is_too_large_is_a_line_in_the_log_and_many_are_one():
    async def nothing(*_: Any) -> Any:
        return None

    scope = {"type": "http", "method": "POST", "path": CALLBACK, "headers": [(b"content-length", b"101")]}
    authenticator: Any = None  # a callback asks none
    gate = EntryMiddleware(nothing, authenticator, 100, 1000, 100)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            asyncio.run(gate(scope, nothing, nothing))
    assert [(entry["event"], entry["refused_before"]) for entry in logs] == [("a body was refused", 0)]
    assert "receipt" not in str(logs)
