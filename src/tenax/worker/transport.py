"""Connects a worker to its server through one interface, over HTTP or within one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from tenax.errors import Unreachable, UsageError
from tenax.model.wire import (
    OLDEST_SERVER,
    Assignment,
    Assignments,
    AttemptNotes,
    AttemptNotesAnswer,
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
from tenax.worker.handlers.json_values import storable_text

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_read_terms = msgspec.json.Decoder(RegistrationAnswer).decode
_read_assignments = msgspec.json.Decoder(list[Assignments]).decode
_read_report_answers = msgspec.json.Decoder(list[ReportAnswers]).decode
_read_heartbeat_answer = msgspec.json.Decoder(HeartbeatAnswer).decode
_read_notes_answer = msgspec.json.Decoder(AttemptNotesAnswer).decode
_read_ended_life_answer = msgspec.json.Decoder(EndedLifeAnswer).decode

CONNECT_SECONDS = 5.0  # for making a connection
ANSWER_SECONDS = 30.0
"""Seconds that the only server may take for an answer. A parked lease request may wait for its `wait` in addition."""
ANSWER_SECONDS_OF_SEVERAL = 10.0
"""Seconds that one of several servers may take for an answer, before the worker asks the next one."""
HEARTBEAT_SHARE_OF_LEASE = 0.25
"""The largest share of a lease that a heartbeat may wait for one of several servers. So a server that hangs does not cost the
worker its leases."""


class Transport(Protocol):
    """Defines the requests that a worker makes of the server.

    Each request may raise `Unreachable`, which is temporary: the worker keeps its leases and tries again. `Unauthorized`
    and `Forbidden` end the worker.
    """

    async def register(self, registration: Registration) -> RegistrationAnswer: ...

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]: ...

    async def report(self, reports: Sequence[Report]) -> None:
        """Returns when the server has taken the reports. A repeated report changes nothing."""
        ...

    async def release(self, releases: Sequence[Release]) -> None: ...

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer: ...

    async def take_notes(self, notes: AttemptNotes) -> AttemptNotesAnswer: ...

    async def pack_chunk(self, content: str, number: int) -> bytes:
        """Returns a chunk of the content of a pack, which is empty after the last one."""
        ...

    async def close(self) -> None: ...


class HttpTransport:
    """Speaks over HTTP to one server, or to one of several (URLs with commas between them).

    A heartbeat is the first request to notice that a server hangs. The other requests that wait for this server then go on to
    the next server too.
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
        """Leases items. The request is never repeated automatically.

        If the answer was lost, the worker must name the lost grant to the server that it asks next.
        """
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

    async def take_notes(self, notes: AttemptNotes) -> AttemptNotesAnswer:
        return _read(_read_notes_answer, await self._post("notes", _dump(notes), self._answer_seconds))

    async def pack_chunk(self, content: str, number: int) -> bytes:
        path = f"/v1/worker/packs/{content}/chunks/{number}"
        answer = await self._servers.request("GET", path, repeatable=True, timeout=self._answer_seconds)
        return check_answer(answer).content

    async def end_life(self, ended: EndedLife) -> int:
        """Tells the server that a worker's process has died. Supervisors call it. Returns the number of lost leases."""
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


async def register_with(transport: Transport, registration: Registration) -> RegistrationAnswer:
    """Registers a worker. Raises `Unreachable` for a server that is too old: the worker waits until it is upgraded."""
    terms = await transport.register(registration)
    if terms.protocol < OLDEST_SERVER:
        raise Unreachable(
            f"the server speaks version {terms.protocol} of the workers' protocol, and this worker needs {OLDEST_SERVER} or newer: "
            "install this version of Tenax on the server too"
        )
    return terms


def _dump(value: Any) -> bytes:
    try:
        return _encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise _no_json(error) from error


def _no_json(error: Exception) -> UsageError:
    return UsageError(f"the request has no JSON form: {storable_text(str(error))}")


def _checked_assignments(body: bytes) -> list[Assignments]:
    return [check_lengths(group) for group in _read_assignments(body)]


def _read(read: Callable[[bytes], T], body: bytes) -> T:
    """Decodes an answer. Raises `Unreachable` if it cannot be read: the worker then tries again, as without an answer."""
    try:
        return read(body)
    except (ValueError, RecursionError) as error:
        raise Unreachable(
            f"the server's answer cannot be read: {error}",
            remedy="is there a Tenax server of the same version at that address?",
        ) from error
