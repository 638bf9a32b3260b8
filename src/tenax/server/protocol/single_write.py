"""Sends the head and the body of an answer in one write, so that the client wakes up once."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD = b"HTTP/1.1 "


class SingleWriteTransport:
    """A transport that holds a head back until its body follows, or until the next turn of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        if self._head is not None:
            data, self._head = self._head + data, None
        elif data.startswith(_HEAD):
            self._head = data
            asyncio.get_running_loop().call_soon(self._let_go)
            return
        self._transport.write(data)

    def close(self) -> None:
        self._let_go()
        self._transport.close()

    def _let_go(self) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class SingleWriteProtocol(HttpToolsProtocol):
    """Is uvicorn's protocol on a `SingleWriteTransport`."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(SingleWriteTransport(transport))  # type: ignore[arg-type]  # it has the methods that uvicorn uses
