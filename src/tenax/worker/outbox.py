"""Keeps the reports and releases that the server has not answered yet.

An entry is removed only after the server has answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from tenax.errors import Forbidden, TenaxError, TooLarge, Unauthorized, Unreachable
from tenax.model.wire import Held, Release, Report
from tenax.worker.handlers.error_outcomes import classified_failure
from tenax.worker.handlers.json_values import storable_text
from tenax.worker.link import Link, LinkDown
from tenax.worker.transport import Transport

MAX_BATCH = 500  # reports or releases per request
MAX_TRIES_ALONE = 5
"""Tries of one report on which the server fails while it takes others. After these a failure is reported in its place."""

log = logging.getLogger("tenax.worker")


class Outbox:
    """Sends reports and releases in batches. Entries that arrive during a call form the next batch.

    After a call that did not get through, the next batch is half as large. A report that fails alone moves to the end of the
    queue, so that it does not hold up the others.
    """

    def __init__(self, transport: Transport, link: Link, on_answered: Callable[[], None]) -> None:
        self._transport = transport
        self._link = link
        self._on_settled = on_answered
        self._reports: list[Report] = []
        self._releases: list[Release] = []
        self._at_once = MAX_BATCH
        self._answered = 0
        """The number of reports that the server has answered."""
        self._faults: dict[tuple[int, str], tuple[int, int]] = {}
        """For each report sent alone: how often the server failed on it, and the value of `_answered` at the last failure."""
        self._has_entries = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        return len(self._reports) + len(self._releases)

    def put(self, entry: Report | Release) -> None:
        if isinstance(entry, Report):
            self._reports.append(entry)
        else:
            self._releases.append(entry)
        self._has_entries.set()
        self._is_empty.clear()

    def held_leases(self) -> list[Held]:
        """Returns the leases of all entries. They still belong to this worker, so its heartbeats name them."""
        entries: list[Report | Release] = [*self._reports, *self._releases]
        return [Held(entry.item_id, entry.token) for entry in entries]

    async def wait_until_empty(self) -> None:
        """Waits until the server has answered every entry."""
        await self._is_empty.wait()

    async def run(self) -> None:
        """Sends entries until it is cancelled."""
        while True:
            await self._has_entries.wait()
            got_through = [await self._try(send) for send in (self._send_reports, self._send_releases)]
            if not all(got_through):
                await self._link.pause()
                continue
            if not len(self):
                self._has_entries.clear()
                self._is_empty.set()
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
                await self._move_to_end(batch[0], down)
            raise
        self._at_once = min(2 * self._at_once, MAX_BATCH)
        self._answered += len(batch)
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

    async def _move_to_end(self, report: Report, down: LinkDown) -> None:
        """Moves a report to the end of the queue.

        If the server took other reports and failed on this one `MAX_TRIES_ALONE` times, a failure is sent in its place.
        """
        self._reports.append(self._reports.pop(0))
        key, error = (report.item_id, report.token), down.__cause__
        tries, taken = self._faults.get(key, (0, -1))
        if self._answered > taken and not isinstance(error, Unreachable):
            tries += 1
            self._faults[key] = tries, self._answered
        if tries >= MAX_TRIES_ALONE and error is not None:
            await self._send_refusal(report, error)
            self._reports.remove(report)
            del self._faults[key]

    async def _send_singly(self, batch: list[Report], error: TenaxError) -> None:
        """Sends the reports of a refused batch one by one.

        A report that the server refuses (for example because it is too large) must not hold up the others, and must not be
        tried for ever. A failure that says so is sent in its place. Reports that were applied already get the same answer again.
        """
        if len(batch) > 1:
            log.info("%d reports could not be sent together and are sent one by one: %s", len(batch), error)
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
        log.warning("item %d, attempt %d: %s; the attempt fails", report.item_id, report.attempt, why)
        outcome = classified_failure("invalid", "invalid_result", why)
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
        batch = self._releases[:MAX_BATCH]
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
                log.exception("item %d could not be handed back; its lease will run out", release.item_id)


def _why_refused(report: Report, error: BaseException) -> str:
    if not isinstance(error, TooLarge):
        said = str(error) if isinstance(error, TenaxError) else f"{type(error).__name__}: {error}"
        return f"the attempt's report could not be sent: {storable_text(said)}"
    succeeded = report.outcome.status == "succeeded"
    size = len(msgspec.json.encode(report.outcome.result if succeeded else report.outcome))
    return f"the {'result' if succeeded else 'report of the failure'} is {size:,} bytes; {error}"
