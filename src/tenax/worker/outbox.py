"""What is finished and not yet known to the server. Nothing leaves here before the server has answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import orjson

from tenax.errors import Forbidden, TenaxError, TooLarge, Unauthorized
from tenax.model.wire import Held, Release, Report
from tenax.worker.failures import refused
from tenax.worker.link import Link, LinkDown
from tenax.worker.transport import Transport

BATCH = 500

log = logging.getLogger("tenax.worker")


class Outbox:
    """Reports and releases. What is put in while a call is under way forms the next batch."""

    def __init__(self, transport: Transport, link: Link, on_settled: Callable[[], None]) -> None:
        self._transport = transport
        self._link = link
        self._on_settled = on_settled
        self._reports: list[Report] = []
        self._releases: list[Release] = []
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
            try:
                await self._send_reports()
                await self._send_releases()
            except LinkDown:
                await self._link.pause()
                continue
            if not len(self):
                self._filled.clear()
                self._emptied.set()
            self._on_settled()

    async def _send_reports(self) -> None:
        batch = self._reports[:BATCH]
        if not batch:
            return
        try:
            await self._link.call(self._transport.report(batch))
        except (Unauthorized, Forbidden):
            raise
        except TenaxError as error:
            await self._send_singly(batch, error)
        del self._reports[: len(batch)]

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

    async def _send_refusal(self, report: Report, error: TenaxError) -> None:
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
            log.exception("the server refused %d releases; their leases will run out", len(batch))
        del self._releases[: len(batch)]


def _why_refused(report: Report, error: TenaxError) -> str:
    if not isinstance(error, TooLarge):
        return f"the server refused the attempt's report: {error}"
    succeeded = report.outcome.status == "succeeded"
    size = len(orjson.dumps(report.outcome.result if succeeded else report.outcome))
    return f"the {'result' if succeeded else 'report of the failure'} is {size:,} bytes; {error}"
