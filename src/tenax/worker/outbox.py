"""What is finished and not yet known to the server. Nothing leaves here before the server has answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from tenax.errors import Forbidden, TenaxError, TooLarge, Unauthorized, Unreachable
from tenax.model.wire import Held, Release, Report
from tenax.worker.handlers.error_outcomes import refused
from tenax.worker.handlers.json_values import storable
from tenax.worker.link import Link, LinkDown
from tenax.worker.transport import Transport

BATCH = 500
TRIES = 5
"""How often the server may fail on one report, while it takes others, before a failure is reported in its place."""

log = logging.getLogger("tenax.worker")


class Outbox:
    """Reports and releases. What is put in while a call is under way forms the next batch.

    After a call that did not get through, fewer are sent at once, and one that fails alone goes to the end: whatever is
    wrong with it, it must not hold up the others.
    """

    def __init__(self, transport: Transport, link: Link, on_settled: Callable[[], None]) -> None:
        self._transport = transport
        self._link = link
        self._on_settled = on_settled
        self._reports: list[Report] = []
        self._releases: list[Release] = []
        self._at_once = BATCH
        self._taken = 0
        """Reports that the server has answered."""
        self._faults: dict[tuple[int, str], tuple[int, int]] = {}
        """How often the server failed on this report alone, and how many others it had taken by then."""
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()

    def __len__(self) -> int:
        return len(self._reports) + len(self._releases)

    def put(self, parcel: Report | Release) -> None:
        if isinstance(parcel, Report):
            self._reports.append(parcel)
        else:
            self._releases.append(parcel)
        self._filled.set()
        self._emptied.clear()

    def held(self) -> list[Held]:
        """Their leases are still this worker's: they are named in its heartbeats."""
        parcels: list[Report | Release] = [*self._reports, *self._releases]
        return [Held(parcel.item_id, parcel.token) for parcel in parcels]

    async def empty(self) -> None:
        """Returns when everything has been answered."""
        await self._emptied.wait()

    async def run(self) -> None:
        """Sends for ever."""
        while True:
            await self._filled.wait()
            got_through = [await self._try(send) for send in (self._send_reports, self._send_releases)]
            if not all(got_through):
                await self._link.pause()
                continue
            if not len(self):
                self._filled.clear()
                self._emptied.set()
            self._on_settled()

    async def _try(self, send: Callable[[], Awaitable[None]]) -> bool:
        try:
            await send()
        except LinkDown:
            return False
        return True

    async def _send_reports(self) -> None:
        batch = self._reports[: self._at_once]
        if not batch:
            return
        try:
            await self._send_batch(batch)
        except LinkDown as down:
            self._at_once = max(1, len(batch) // 2)
            if len(batch) == 1:
                await self._put_last(batch[0], down)
            raise
        self._at_once = min(2 * self._at_once, BATCH)
        self._taken += len(batch)
        del self._reports[: len(batch)]
        for report in batch:
            self._faults.pop((report.item_id, report.token), None)

    async def _send_batch(self, batch: list[Report]) -> None:
        try:
            await self._link.call(self._transport.report(batch))
        except (Unauthorized, Forbidden):
            raise
        except TenaxError as error:
            await self._send_singly(batch, error)

    async def _put_last(self, report: Report, down: LinkDown) -> None:
        """Where the server takes others, and fails on this one each time, a failure goes in its place."""
        self._reports.append(self._reports.pop(0))
        key, error = (report.item_id, report.token), down.__cause__
        tries, taken = self._faults.get(key, (0, -1))
        if self._taken > taken and not isinstance(error, Unreachable):
            tries += 1
            self._faults[key] = tries, self._taken
        if tries >= TRIES and error is not None:
            await self._send_refusal(report, error)
            self._reports.remove(report)
            del self._faults[key]

    async def _send_singly(self, batch: list[Report], error: TenaxError) -> None:
        """One report that the server refuses (too large, ...) must not hold up the others, nor be tried for ever.

        In its place goes a failure that says so; reports that were applied already are answered as before.
        """
        if len(batch) > 1:
            log.info("%d reports could not be sent together, so they go one by one: %s", len(batch), error)
        for report in batch:
            try:
                if len(batch) > 1:
                    await self._link.call(self._transport.report([report]))
                else:
                    await self._send_refusal(report, error)
            except (Unauthorized, Forbidden):
                raise
            except TenaxError as refusal:
                await self._send_refusal(report, refusal)

    async def _send_refusal(self, report: Report, error: BaseException) -> None:
        why = _why_refused(report, error)
        log.warning("item %d, attempt %d: %s; it fails", report.item_id, report.attempt, why)
        outcome = refused("invalid", "invalid_result", why)
        place = (report.execution_id, report.item_id, report.attempt, report.token)
        try:
            await self._link.call(self._transport.report([Report(*place, outcome)]))
        except (Unauthorized, Forbidden):
            raise
        except TenaxError:
            log.exception(
                "the server refused the report on item %d twice; its lease will run out", report.item_id
            )

    async def _send_releases(self) -> None:
        batch = self._releases[:BATCH]
        if not batch:
            return
        try:
            await self._link.call(self._transport.release(batch))
        except (Unauthorized, Forbidden):
            raise
        except TenaxError:
            await self._release_singly(batch)
        del self._releases[: len(batch)]

    async def _release_singly(self, batch: list[Release]) -> None:
        for release in batch:
            try:
                await self._link.call(self._transport.release([release]))
            except (Unauthorized, Forbidden):
                raise
            except TenaxError:
                log.exception("item %d: it could not be handed back; its lease will run out", release.item_id)


def _why_refused(report: Report, error: BaseException) -> str:
    if not isinstance(error, TooLarge):
        said = str(error) if isinstance(error, TenaxError) else f"{type(error).__name__}: {error}"
        return f"the attempt's report could not be sent: {storable(said)}"
    succeeded = report.outcome.status == "succeeded"
    size = len(msgspec.json.encode(report.outcome.result if succeeded else report.outcome))
    return f"the {'result' if succeeded else 'report of the failure'} is {size:,} bytes; {error}"
