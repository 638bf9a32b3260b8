"""Starts the executions that applications submitted in transactions of their own (`tenax.submit`)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec
import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.start_execution import Start
from tenax.engine.isolate_failures import Found, IsolatedItems
from tenax.engine.slices import Sliced
from tenax.engine.submit.resolve_definitions import check_key, plans_of
from tenax.engine.submit.submit import announce_starts, write_executions
from tenax.errors import InvalidInput, TenaxError, Unreachable
from tenax.model.events import event
from tenax.model.events.fleet_data import SubmissionRejectedData
from tenax.model.events.types import SubmissionRejected
from tenax.model.json_text import decode
from tenax.model.wire import Submission
from tenax.store.applications.rejected_submissions import Rejection, reject_submissions
from tenax.store.applications.requested_submissions import (
    RequestedSubmission,
    delete_requests,
    find_requests,
    lock_requests,
)
from tenax.store.connect import Connection
from tenax.store.fleet.workers import log_fleet_events
from tenax.store.journal import NO_TIME

BATCH = 500
"""Requests that one transaction starts."""
LARGE = 16_000_000
"""Bytes of requests that are in memory together. A single request may have more."""
LONGEST = 5.0
"""Seconds after which the leader looks for requests in any case: a message may have been lost."""
AWAY = 0.5
"""Seconds before the next try while the database cannot be reached."""
_log = structlog.get_logger("tenax.submit")


class RequestedSubmissions:
    """Starts requested submissions. A request is deleted in the transaction that writes its execution, so it is started once,
    whatever servers are killed."""

    def __init__(self, context: EngineContext, leads: Callable[[], bool]) -> None:
        """`leads` tells whether this server leads."""
        self._context = context
        self._leads = leads
        self._wake = asyncio.Event()
        self._isolated = IsolatedItems()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST):
                    await self._wake.wait()
            try:
                if self._wake.is_set() or self._leads():
                    self._wake.clear()
                    while await self.start():
                        pass
            except Unreachable:
                await asyncio.sleep(AWAY)
                self._wake.set()

    async def start(self) -> int:
        """Starts the next requests that no other server is starting, or rejects them. Returns their number."""
        async with self._context.statements() as tx:
            found = await find_requests(tx, self._isolated.ids, BATCH)
        taken = [(id_, id_) for id_ in _within(found, LARGE)]
        if not taken:
            return 0
        return await self._isolated.process(taken, self._process, "a requested submission cannot be started")

    async def _process(self, found: Sequence[Found]) -> int:
        async with self._context.transaction() as tx:
            requests = await lock_requests(tx, [id_ for id_, _ in found])
            starts, rejections = await self._resolve(requests)
            rejections += await self._write(tx, starts)
            if rejections:
                await _reject(tx, rejections)
            await delete_requests(tx, [one.execution_id for one in requests])
        if starts:
            announce_starts(self._context, starts, NO_TIME, ready=True)
        for one in rejections:
            _log.warning(
                "a submission was rejected", id=one.execution_id, reason=one.reason, error=one.message
            )
        return len(requests)

    async def _resolve(self, requests: Sequence[RequestedSubmission]) -> tuple[list[Start], list[Rejection]]:
        """Finds plans and checks inputs, as for any other submission. All names are looked up together, unless something is wrong with
        one of them."""
        try:
            return await self._starts_of(requests), []
        except Unreachable:
            raise
        except TenaxError as error:
            if len(requests) == 1:
                [one] = requests
                return [], [Rejection(one.execution_id, one.workflow, one.key, error.code, error.message)]
        starts: list[Start] = []
        rejections: list[Rejection] = []
        for request in requests:
            started, rejected = await self._resolve([request])
            starts += started
            rejections += rejected
        return starts, rejections

    async def _starts_of(self, requests: Sequence[RequestedSubmission]) -> list[Start]:
        reading = self._context.reading
        submissions: list[Submission] = []
        for request in requests:
            for text in (request.input, request.files):
                await reading.check_values((text or "").encode())
            submissions.append(_submission(request))
            check_key(submissions[-1])
        starts: list[Start] = []
        found = await plans_of(self._context, submissions)
        async for request, one, (plan, plan_id) in Sliced(zip(requests, submissions, found, strict=True)):
            checked = await reading.check(plan.workflow, one.input)
            starts.append(Start(plan, plan_id, checked, one.key, one.base_dir, id=request.execution_id))
        return starts

    async def _write(self, tx: Connection, starts: Sequence[Start]) -> list[Rejection]:
        """Writes the executions. Returns the submissions whose key was used before."""
        if not starts:
            return []
        answers = (await write_executions(tx, self._context, starts)).answers
        return [
            Rejection(
                start.id or 0,
                start.plan.workflow.name,
                start.key,
                "key_taken",
                f"execution {answer.id} has its key {start.key!r}",
            )
            for start, answer in zip(starts, answers, strict=True)
            if not answer.created
        ]


def _within(found: Sequence[tuple[int, int]], most: int) -> list[int]:
    """Returns the first ids whose bytes are within the limit, but at least one."""
    ids: list[int] = []
    total = 0
    for id_, size in found:
        total += size
        if ids and total > most:
            break
        ids.append(id_)
    return ids


def _submission(request: RequestedSubmission) -> Submission:
    """Returns the submission with the bounds of its fields checked. Raises InvalidInput."""
    fields = {
        "source": request.source,
        "filename": request.filename,
        "workflow": request.workflow,
        "input": decode(request.input) or {},
        "key": request.key,
        "base_dir": request.base_dir,
        "files": decode(request.files) or {},
    }
    try:
        return msgspec.convert(fields, Submission)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the submission is not valid: {error}") from None


async def _reject(tx: Connection, rejections: Sequence[Rejection]) -> None:
    """Keeps the rejected requests, and logs an event for each."""
    await reject_submissions(tx, rejections)
    events = [
        event(
            SubmissionRejected,
            data=SubmissionRejectedData(
                id=one.execution_id,
                workflow=one.workflow,
                key=one.key,
                reason=one.reason,
                message=one.message,
            ),
        )
        for one in rejections
    ]
    await log_fleet_events(tx, events)
