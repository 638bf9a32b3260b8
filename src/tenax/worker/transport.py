"""How a worker speaks to its server: one interface, over HTTP or within one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from tenax.errors import Unreachable, UsageError
from tenax.model.wire import (
    Assignment,
    Assignments,
    EndedLife,
    EndedLifeAnswer,
    Heartbeat,
    HeartbeatAnswer,
    LeaseRequest,
    Registration,
    RegistrationAnswer,
    Release,
    Report,
    ReportAnswers,
)
from tenax.model.wire_columns import check_lengths, gather_reports, spread_assignments
from tenax.sdk.problems import check_answer
from tenax.sdk.servers import Servers
from tenax.worker.handlers.json_values import storable

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_read_terms = msgspec.json.Decoder(RegistrationAnswer).decode
_read_assignments = msgspec.json.Decoder(list[Assignments]).decode
_read_report_answers = msgspec.json.Decoder(list[ReportAnswers]).decode
_read_heartbeat_answer = msgspec.json.Decoder(HeartbeatAnswer).decode
_read_ended_life_answer = msgspec.json.Decoder(EndedLifeAnswer).decode

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
"""How long the server may take for an answer, beyond what a parked lease request waits."""
ANSWER_SECONDS_OF_SEVERAL = 10.0
"""The same where there are others to ask."""
HEARTBEAT_SHARE_OF_LEASE = 0.25
"""And for a heartbeat no more than this share of a lease: a server that hangs must not cost the worker its leases."""


class Transport(Protocol):
    """The server, as a worker sees it.

    `Unreachable` from any of them is temporary: the worker keeps what it holds and tries again. `Unauthorized` and
    `Forbidden` end the worker.
    """

    async def register(self, registration: Registration) -> RegistrationAnswer: ...

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]: ...

    async def report(self, reports: Sequence[Report]) -> None:
        """Returns when the server has them. The same report again changes nothing."""
        ...

    async def release(self, releases: Sequence[Release]) -> None: ...

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer: ...

    async def close(self) -> None: ...


class HttpTransport:
    """A server somewhere else, or one of several (with commas between their URLs).

    Heartbeats find out that one of several hangs; what else waits there goes on with them to the next.
    """

    def __init__(self, server_url: str, token: str | None = None) -> None:
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._servers = Servers(server_url, headers=headers)
        self._several = len(self._servers.addresses) > 1
        self._answer_seconds = ANSWER_SECONDS_OF_SEVERAL if self._several else ANSWER_SECONDS
        self._heartbeat_seconds = self._answer_seconds

    async def register(self, registration: Registration) -> RegistrationAnswer:
        body = _dump(registration)
        terms = _read(_read_terms, await self._post("register", body, self._heartbeat_seconds))
        if self._several:
            self._heartbeat_seconds = min(self._answer_seconds, HEARTBEAT_SHARE_OF_LEASE * terms.lease)
        return terms

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]:
        """Not repeated by itself: what one server granted and did not say must be named as lost to the next."""
        body, seconds = _dump(request), self._answer_seconds + request.wait
        answer = await self._post("lease", body, seconds, follows=True, repeatable=False)
        return spread_assignments(_read(_checked_assignments, answer))

    async def report(self, reports: Sequence[Report]) -> None:
        body = _dump(gather_reports(reports))
        _read(_read_report_answers, await self._post("report", body, self._answer_seconds, follows=True))

    async def release(self, releases: Sequence[Release]) -> None:
        body = _dump(list(releases))
        await self._post("release", body, self._answer_seconds, follows=True)

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        body = _dump(heartbeat)
        return _read(_read_heartbeat_answer, await self._post("heartbeat", body, self._heartbeat_seconds))

    async def end_life(self, ended: EndedLife) -> int:
        """Tells the server that a worker's process has died: for its supervisor. Returns how many leases were lost."""
        answer = await self._post("ended", _dump(ended), self._answer_seconds)
        return _read(_read_ended_life_answer, answer).lost

    async def close(self) -> None:
        await self._servers.close()

    async def _post(
        self, verb: str, body: bytes, seconds: float, *, follows: bool = False, repeatable: bool = True
    ) -> bytes:
        response = await self._servers.request(
            "POST",
            f"/v1/worker/{verb}",
            repeatable=repeatable,
            follows=follows,
            content=body,
            timeout=seconds,
            connect=min(CONNECT_SECONDS, self._heartbeat_seconds),
        )
        return check_answer(response).content


def _dump(value: Any) -> bytes:
    try:
        return _encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise _no_json(error) from error


def _no_json(error: Exception) -> UsageError:
    return UsageError(f"it has no JSON form: {storable(str(error))}")


def _checked_assignments(body: bytes) -> list[Assignments]:
    return [check_lengths(group) for group in _read_assignments(body)]


def _read(read: Callable[[bytes], T], body: bytes) -> T:
    """An answer that cannot be read never came, as far as the worker is concerned."""
    try:
        return read(body)
    except (ValueError, RecursionError) as error:
        raise Unreachable(
            f"the server's answer cannot be read: {error}",
            remedy="is there a Tenax server of the same version at that address?",
        ) from error
