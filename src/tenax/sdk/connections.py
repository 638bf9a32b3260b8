"""Finds out how a connection of httpx failed."""

from __future__ import annotations

import httpx2

from tenax.model.attempt.outcome import Connection
from tenax.sdk.causes import chain, kind_of_causes


def connection_kind(error: BaseException) -> Connection:
    """Returns the kind of the most specific cause in the chain of an error, else that of the error itself."""
    causes = list(chain(error))
    if (kind := kind_of_causes(causes)) is not None:
        return kind
    match error:
        case httpx2.TimeoutException():
            return "timeout"
        case httpx2.RemoteProtocolError() if not any(_is_of_a_reader(cause) for cause in causes):
            return "reset"
        case httpx2.ProtocolError() | httpx2.DecodingError():
            return "protocol"
        case httpx2.ReadError() | httpx2.WriteError() | httpx2.CloseError():
            return "reset"
        case _:
            return "other"


def _is_of_a_reader(cause: BaseException) -> bool:
    """Returns whether a parser of answers raised the error. If none did, the server closed the connection without an answer."""
    return type(cause).__module__.partition(".")[0] in ("h11", "h2")
