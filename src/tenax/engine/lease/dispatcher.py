"""Keeps lease requests waiting until there is work. One claim serves all of them. Inputs are rendered when an attempt
is leased."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.fleet.fleet_view import Fleet
from tenax.engine.lease.background_work import BackgroundWork
from tenax.engine.lease.claim import Claims
from tenax.engine.lease.full_claim import Claimed
from tenax.engine.lease.heard_workers import HeardWorkers
from tenax.engine.lease.large_inputs import LargeInputs, without_room
from tenax.engine.lease.render_inputs import InputRenderer
from tenax.engine.lease.waiting_requests import Reserved, WaitingRequest, by_execution, share_out
from tenax.engine.lease.worker_speed import WorkerSpeed
from tenax.engine.notifier import WorkerEffects, whenever
from tenax.engine.slices import TimeSlice, in_slices, urgent
from tenax.errors import Unreachable
from tenax.model.wire import Assignment, LeaseRequest, Release, Report
from tenax.policy.dispatch.assignment import Candidate
from tenax.store.rows import LeasedItem

_LOOP_ROUNDS_TO_ANSWER = 5
"""Iterations of the event loop until an answer is sent to its worker. After a claim that left slots empty the next
claim waits this long, because it would mostly find nothing."""


OWN_CLAIMS_AT_ONCE = 2
"""Claims for executions with workers of their own that run at the same time. Each needs a session."""
AGE_OF_LEASES = 1 / 3
"""The part of a lease that may pass before its item is sent. Until then no heartbeat extends the lease."""
CLOSE_SECONDS = 10.0
"""Seconds that a server which is ending waits for unfinished answers."""


class Dispatcher:
    """Claims ready items for the waiting requests whenever work or a request arrives."""

    def __init__(
        self,
        context: EngineContext,
        *,
        report: Callable[[Sequence[Report]], Awaitable[Any]],
        release: Callable[[Sequence[Release]], Awaitable[None]],
        release_grants: Callable[[str, Sequence[str]], Awaitable[None]],
    ) -> None:
        """`report` takes the failures of items whose inputs cannot be rendered. `release` and `release_grants` take back
        leases that never reached their worker."""
        self._context = context
        self._report = report
        self._release = release
        self._release_grants = release_grants
        self._waiting: list[WaitingRequest] = []
        self._wake = asyncio.Event()
        self._uncertain: list[tuple[str, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._background = BackgroundWork()
        self.heard_workers = HeardWorkers(context, self.wake)
        self.fleet = Fleet(context)
        self.worker_speed = WorkerSpeed()
        self._claims = Claims(self.fleet, self.worker_speed, context)
        self._large = LargeInputs(context)
        self._own_at_once = asyncio.Semaphore(OWN_CLAIMS_AT_ONCE)
        self._news = 0
        """Counts the events that may make items ready or workers able."""

    def wake(self) -> None:
        """Makes a claim soon, since items may be ready."""
        self._news += 1
        self._wake.set()

    def look_anew(self) -> None:
        """Makes the next claim read the queues again."""
        self._claims.look_anew()

    def note_worker_effects(self, effects: WorkerEffects) -> bool:
        self._claims.note_news()  # the end of an attempt may allow its worker to get work again
        return self.fleet.note_worker_effects(effects)

    async def lease(self, request: LeaseRequest) -> list[Assignment]:
        """Waits until there is work or the request's time is over. If the caller goes away, its items are released."""
        if request.lost_grants:
            await self._release_grants(request.worker, request.lost_grants)
        waiting = self._add_waiting(request)
        if not self._claims.is_in_vain(request):
            self._wake.set()
        timer = asyncio.get_running_loop().call_later(request.wait, self._let_go, waiting)
        try:
            return await waiting.granted
        except asyncio.CancelledError:
            self._let_go(waiting)
            if not waiting.granted.cancelled():  # the answer became ready at the same moment
                with contextlib.suppress(Unreachable):  # otherwise the lease expires
                    await self._release_grants(request.worker, [request.grant])
            raise
        finally:
            timer.cancel()

    async def lease_now(self, request: LeaseRequest) -> list[Assignment]:
        """Leases the items that are ready now, without waiting. For callers that drive the engine by hand."""
        waiting = self._add_waiting(request)
        self._claims.look_anew()
        await self.claim()
        self._let_go(waiting)
        return await waiting.granted

    def _add_waiting(self, request: LeaseRequest) -> WaitingRequest:
        self.heard_workers.heard(request.worker)
        self.worker_speed.note_asked(request)
        waiting = WaitingRequest(request, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        return waiting

    def _let_go(self, waiting: WaitingRequest) -> None:
        """Ends the waiting of a request. A request that takes part in a claim ends with that claim."""
        waiting.leaving = True
        if waiting in self._waiting:
            self._waiting.remove(waiting)
            if not waiting.granted.done():
                waiting.granted.set_result([])

    def reserve(self, want: Candidate) -> Reserved | None:
        """Reserves a waiting request for a new item that is leased as it is submitted. Returns None if other work may
        be ready.

        The caller has to call `hand_over` or `give_up` of the reserved request.
        """
        if self._wake.is_set():  # no claim has handled the latest news yet
            return None
        here = [
            waiting
            for waiting in self._waiting
            if waiting.request.execution_id is None
            and not waiting.granted.done()
            and self.heard_workers.is_here(waiting.request.worker)
        ]
        chosen = self._claims.choose(want, [waiting.request for waiting in here])
        if chosen is None:
            return None
        self._waiting.remove(here[chosen])
        return Reserved(here[chosen], self.hand_over, self.give_up)

    async def hand_over(self, waiting: WaitingRequest, item: LeasedItem) -> None:
        """Answers a reserved request with the item that was leased to it."""
        assigning = InputRenderer.at_hand(self._context, item)
        if assigning is None:
            try:
                async with self._context.statements() as tx:
                    assigning = await InputRenderer.prepare(tx, self._context, [item])
            except BaseException:  # raised again: otherwise the request would wait for ever
                self.give_up([waiting])
                raise
        self._note_served([waiting], [item], probed=())
        self._grant([waiting], [item], assigning)

    def give_up(self, group: list[WaitingRequest]) -> None:
        """Ends requests without items after a commit whose success is unknown. Their workers ask again under a new
        grant.

        The next claim releases the leases that the old grants may have.
        """
        for waiting in group:
            self._uncertain.append((waiting.request.worker, waiting.request.grant))
            if not waiting.granted.done():
                waiting.granted.set_result([])
        self.wake()

    async def run(self) -> None:
        await whenever(self._wake, self._claim_if_asked)

    async def close(self) -> None:
        """Releases the leases of callers that have gone or may have gone. Call it after the last claim.

        Claims for single executions that hang on the database are ended, and release what they have leased.
        """
        await self._background.end(CLOSE_SECONDS)
        with contextlib.suppress(Unreachable):
            await self._release_uncertain()

    async def finish_answers(self) -> None:
        """Waits until every claimed item is rendered, and answered, released or reported as broken."""
        await self._background.finish()

    async def _claim_if_asked(self) -> int:
        if not self._waiting:
            self._claims.note_news()  # no claim has handled the news yet: the next request will
            return 0
        asked = sum(waiting.request.slots for waiting in self._waiting)
        progress = await self.claim()
        if 0 < progress < asked:
            for _ in range(_LOOP_ROUNDS_TO_ANSWER):
                await asyncio.sleep(0)
        return progress

    async def claim(self) -> int:
        """Makes a claim for the fleet, and starts one for each execution with a worker of its own. Returns the
        progress of the first."""
        taken, self._waiting = self._waiting, []
        self._claims.note_news()
        try:
            silent = await self.heard_workers.silent(waiting.request.worker for waiting in taken)
            await self._release_uncertain()
            here = [waiting for waiting in taken if waiting.request.worker not in silent]
            taken = [waiting for waiting in taken if waiting.is_of_fleet or waiting.request.worker in silent]
            for party in by_execution(here):
                self._background.start(self._serve_own(party))
            fleet = [waiting for waiting in here if waiting.is_of_fleet]
            with urgent():
                progress = await self._serve(fleet) if fleet else 0
            if fleet and not progress:
                self._claims.note_in_vain([waiting.request for waiting in fleet])
            return progress
        finally:
            self._wait_again(taken)

    async def _serve_own(self, party: list[WaitingRequest]) -> None:
        """Makes a claim for the workers of one execution. No other request waits for it."""
        progress, news = 0, self._news
        try:
            async with self._own_at_once:
                if staying := [waiting for waiting in party if not waiting.granted.done()]:
                    progress = await self._serve(staying)
        finally:
            self._wait_again(party)
            if progress or self._news != news:  # there may be more items
                self._wake.set()

    def _wait_again(self, taken: Sequence[WaitingRequest]) -> None:
        """Lets the unserved requests wait again, or ends them if their time is over."""
        unserved = [waiting for waiting in taken if not waiting.served and not waiting.granted.done()]
        for waiting in unserved:
            if waiting.leaving:
                waiting.granted.set_result([])
        self._waiting = [waiting for waiting in unserved if not waiting.leaving] + self._waiting

    async def _release_uncertain(self) -> None:
        """Releases the grants of claims whose commit may have failed. Their items never reached a worker."""
        while self._uncertain:
            worker, grant = self._uncertain[-1]
            await self._release_grants(worker, [grant])
            self._uncertain.pop()

    async def _serve(self, group: list[WaitingRequest]) -> int:
        try:
            claimed, assigning, large = await self._claim(
                self._large.bounded([waiting.request for waiting in group])
            )
        except asyncio.CancelledError:  # the server stops: it releases the items that never reached a worker
            with contextlib.suppress(Unreachable):
                for waiting in group:
                    await self._release_grants(waiting.request.worker, [waiting.request.grant])
            raise
        except Exception:  # raised again: the items leased so far never reached a worker
            self.give_up(group)
            raise
        if items := claimed.items:
            granted = {item.grant for item in items}
            served = [waiting for waiting in group if waiting.request.grant in granted]
            self._note_served(served, items, claimed.probed)
            # The next claim starts first: the database works on it while these inputs are rendered.
            asyncio.get_running_loop().call_soon(self._grant, served, items, assigning, large)
        if claimed.next_token is not None:
            self._wake_in(claimed.next_token)
        return claimed.progress

    def _note_served(
        self, served: Sequence[WaitingRequest], items: Sequence[LeasedItem], probed: Sequence[str]
    ) -> None:
        self.fleet.note_leased(items, probed)
        for waiting in served:
            waiting.served = True
            self.worker_speed.note_served(waiting.request)

    def _grant(
        self,
        served: Sequence[WaitingRequest],
        items: Sequence[LeasedItem],
        assigning: InputRenderer,
        large: AbstractSet[int] = frozenset(),
    ) -> None:
        """Answers the requests with the items leased to them. Long rendering continues in time slices. A
        request with an item in `large` is answered when its large values have been read."""
        self._note_expiry(items)
        self._context.notifier.announce(executions={item.execution_id for item in items})
        shares = share_out(served, items)
        if large:
            for waiting, own in shares:
                if any(item.id in large for item in own):
                    self._background.start(self._answer_large(waiting, own))
            shares = [share for share in shares if not any(item.id in large for item in share[1])]
        time_slice, answering = TimeSlice(), self._answer_all(shares, assigning)
        for _ in answering:
            if time_slice.is_over:
                self._background.start(in_slices(answering))
                return

    def _answer_all(
        self, shares: Sequence[tuple[WaitingRequest, list[LeasedItem]]], assigning: InputRenderer
    ) -> Generator[None, None, None]:
        """Renders the items request by request, and answers each request when its items are rendered. Yields
        after each item."""
        for waiting, own in shares:
            assignments: list[Assignment] = []
            broken: list[Report] = []
            for item in own:
                made = assigning.make(item)
                if isinstance(made, Assignment):
                    assignments.append(made)
                else:
                    broken.append(made)
                yield
            self._large.note_fitted(waiting.request.worker)
            self._finish(waiting, own, assignments, broken)

    async def _answer_large(self, waiting: WaitingRequest, own: Sequence[LeasedItem]) -> None:
        """Answers a request with as many of its items as fit into an answer, and releases the others.

        The items are released if the caller has gone, or if their leases are old before their turn comes: no heartbeat
        extends them yet.
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        oldest = self._context.settings.lease * AGE_OF_LEASES

        def wanted() -> bool:
            return not waiting.granted.done() and loop.time() - begun < oldest

        try:
            rendered = await self._large.render(own, wanted)
            if rendered is not None and rendered.left:  # before the answer: the worker never hears of these
                await self._release([without_room(item) for item in rendered.left])
        except Exception:  # raised again: the leased items never reached the worker
            self.give_up([waiting])
            raise
        if rendered is None:
            self.give_up([waiting])
            return
        self._finish(waiting, own[: len(own) - len(rendered.left)], rendered.assignments, rendered.broken)

    def _finish(
        self,
        waiting: WaitingRequest,
        own: Sequence[LeasedItem],
        assignments: list[Assignment],
        broken: Sequence[Report],
    ) -> None:
        self._context.lease_cache.note(own)
        self._answer(waiting, assignments)
        if broken:
            self._background.start(self._report(broken))
            if not waiting.granted.done():
                waiting.served = False
                self._wait_again([waiting])
                self.wake()

    def _answer(self, waiting: WaitingRequest, assignments: list[Assignment]) -> None:
        if waiting.granted.done():  # the caller has gone meanwhile, and nobody else would release its items
            self._background.start(self._release_unanswered(waiting.request))
        elif assignments:
            waiting.granted.set_result(assignments)

    async def _release_unanswered(self, request: LeaseRequest) -> None:
        try:
            await self._release_grants(request.worker, [request.grant])
        except Unreachable:  # a later claim tries it again
            self._uncertain.append((request.worker, request.grant))
            raise

    async def _claim(
        self, requests: Sequence[LeaseRequest]
    ) -> tuple[Claimed, InputRenderer, AbstractSet[int]]:
        """Makes a short claim if it is enough, else a full one. Reads what its items need, except large values."""
        if (asked := self._claims.for_short_claim(requests)) is not None:
            async with self._context.statements() as tx:
                claimed = await self._claims.take_short(tx, asked)
                if claimed is not None:
                    return claimed, *await InputRenderer.prepare_shortly(tx, self._context, claimed.items)
        async with self._context.transaction() as tx:
            claimed = await self._claims.take_in_full(tx, requests)
            return claimed, *await InputRenderer.prepare_shortly(tx, self._context, claimed.items)

    def _wake_in(self, seconds: float) -> None:
        """Wakes the dispatcher when the rate of a queue allows the next start. Replaces an earlier timer."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self.wake)

    def _note_expiry(self, items: Sequence[LeasedItem]) -> None:
        """Tells the timers when the first of these leases or timeouts may expire."""
        settings = self._context.settings
        shortest = min(item.timeout for item in items) + settings.timeout_grace
        self._context.notifier.listeners.due(min(settings.lease, shortest))
