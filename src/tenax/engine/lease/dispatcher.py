"""Parks lease requests until there is work. One claim serves all of them; inputs are rendered as an attempt is leased."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.engine.context import Core
from tenax.engine.fleet.fleet_view import Fleet
from tenax.engine.lease.claim import Claims
from tenax.engine.lease.full_claim import Claimed
from tenax.engine.lease.heard_workers import Presence
from tenax.engine.lease.render_inputs import Assigning
from tenax.engine.lease.worker_speed import Pace
from tenax.engine.notifier import Settled, whenever
from tenax.engine.slices import Turns, in_slices
from tenax.errors import Unreachable
from tenax.model.wire import Assignment, LeaseRequest, Report
from tenax.policy.dispatch.assignment import Candidate
from tenax.store.rows import LeasedItem

_TURNS_TO_ANSWER = 5
"""Turns of the event loop until an answer is on its way to its worker. If a claim has left slots empty, the next one waits so long:
it mostly finds nothing."""


@dataclass(eq=False, slots=True)
class Parked:
    request: LeaseRequest
    granted: asyncio.Future[list[Assignment]]
    leaving: bool = False
    """Its time is up while a claim is under way. It still gets what that claim leases to it."""
    served: bool = False
    """Items are leased to it, and their inputs are being rendered."""


class Reserved:
    """A parked request that was taken out for a new item."""

    __slots__ = ("_dispatcher", "_parked", "request")

    def __init__(self, dispatcher: Dispatcher, parked: Parked) -> None:
        self._dispatcher = dispatcher
        self._parked = parked
        self.request = parked.request

    def hand_over(self, item: LeasedItem) -> Coroutine[Any, Any, None]:
        """Answers the request with the item that was leased to it."""
        return self._dispatcher.hand_over(self._parked, item)

    def give_up(self) -> None:
        """Ends the request with nothing. Its worker asks again."""
        self._dispatcher.give_up([self._parked])


class Dispatcher:
    """Claims ready items for the parked requests, whenever there is news of either."""

    def __init__(
        self,
        core: Core,
        *,
        report: Callable[[Sequence[Report]], Awaitable[Any]],
        release: Callable[[str, Sequence[str]], Awaitable[None]],
    ) -> None:
        """`report` takes what became of items that cannot be run. `release` takes back the grants of a worker that never heard of them."""
        self._core = core
        self._report = report
        self._release = release
        self._parked: list[Parked] = []
        self._wake = asyncio.Event()
        self._doubtful: list[tuple[str, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._background: set[asyncio.Task[Any]] = set()
        self.presence = Presence(core, self.wake)
        self.fleet = Fleet(core)
        self.pace = Pace()
        self._claims = Claims(self.fleet, self.pace, core.terms, ageing=core.settings.ageing)

    def wake(self) -> None:
        self._wake.set()

    def look_anew(self) -> None:
        """The next claim reads the queues anew."""
        self._claims.look_anew()

    def note_settled(self, settled: Settled) -> bool:
        self._claims.note_news()  # what has ended may have kept a worker from the rest
        return self.fleet.note_settled(settled)

    async def lease(self, request: LeaseRequest) -> list[Assignment]:
        """Waits until there is work or the request's time is up. If the caller goes away, its items are released."""
        if request.lost_grants:
            await self._release(request.worker, request.lost_grants)
        parked = self._park(request)
        if not self._claims.is_in_vain(request):
            self._wake.set()
        timer = asyncio.get_running_loop().call_later(request.wait, self._let_go, parked)
        try:
            return await parked.granted
        except asyncio.CancelledError:
            self._let_go(parked)
            if not parked.granted.cancelled():  # the answer was ready in this very moment
                with contextlib.suppress(Unreachable):  # the lease runs out then
                    await self._release(request.worker, [request.grant])
            raise
        finally:
            timer.cancel()

    async def lease_now(self, request: LeaseRequest) -> list[Assignment]:
        """Leases what is ready at this moment, without waiting. For callers that drive the engine by hand."""
        parked = self._park(request)
        self._claims.look_anew()
        await self.claim()
        self._let_go(parked)
        return await parked.granted

    def _park(self, request: LeaseRequest) -> Parked:
        self.presence.heard(request.worker)
        self.pace.note_asked(request)
        parked = Parked(request, asyncio.get_running_loop().create_future())
        self._parked.append(parked)
        return parked

    def _let_go(self, parked: Parked) -> None:
        """Ends the waiting of a request. If a claim is under way with it, the request ends with that claim."""
        parked.leaving = True
        if parked in self._parked:
            self._parked.remove(parked)
            if not parked.granted.done():
                parked.granted.set_result([])

    def reserve(self, want: Candidate) -> Reserved | None:
        """Takes a parked request out for a new item that is leased as it is submitted. Returns None if other work may be ready.

        The caller has to call `hand_over` or `give_up` of what is returned.
        """
        if self._wake.is_set():  # no claim has seen the latest news yet
            return None
        here = [
            parked
            for parked in self._parked
            if parked.request.execution_id is None
            and not parked.granted.done()
            and self.presence.is_here(parked.request.worker)
        ]
        chosen = self._claims.choose(want, [parked.request for parked in here])
        if chosen is None:
            return None
        self._parked.remove(here[chosen])
        return Reserved(self, here[chosen])

    async def hand_over(self, parked: Parked, item: LeasedItem) -> None:
        """Answers a reserved request with the item that was leased to it."""
        assigning = Assigning.at_hand(self._core, item)
        if assigning is None:
            try:
                async with self._core.statements() as tx:
                    assigning = await Assigning.prepare(tx, self._core, [item])
            except BaseException:  # raised again: the request must not wait for ever
                self.give_up([parked])
                raise
        self._note_served([parked], [item], probed=())
        self._grant([parked], [item], assigning)

    def give_up(self, group: list[Parked]) -> None:
        """Ends requests with nothing, after a commit that may have gone through or not. Their workers ask again, by another grant.

        The next claim releases what may be leased by the old grants.
        """
        for parked in group:
            self._doubtful.append((parked.request.worker, parked.request.grant))
            if not parked.granted.done():
                parked.granted.set_result([])
        self._wake.set()

    async def run(self) -> None:
        await whenever(self._wake, self._claim_if_asked)

    async def close(self) -> None:
        """Releases what was leased to callers that have gone, or may have been. To be called once nothing is claimed any more."""
        await self.finish_answers()
        with contextlib.suppress(Unreachable):
            await self._release_doubtful()

    async def finish_answers(self) -> None:
        """Waits until everything that was claimed is rendered, and answered, released or reported as broken."""
        await asyncio.sleep(0)  # the last answer is made in this turn
        while self._background:
            await asyncio.wait(self._background)

    async def _claim_if_asked(self) -> int:
        if not self._parked:
            self._claims.note_news()  # nobody has looked at the news yet: the next request does
            return 0
        asked = sum(parked.request.slots for parked in self._parked)
        progress = await self.claim()
        if 0 < progress < asked:
            for _ in range(_TURNS_TO_ANSWER):
                await asyncio.sleep(0)
        return progress

    async def claim(self) -> int:
        """Makes one round of claims: one for the fleet, one for each execution with a worker of its own. Returns how much was done."""
        taken, self._parked = self._parked, []
        self._claims.note_news()
        parties: dict[int | None, list[Parked]] = defaultdict(list)
        try:
            silent = await self.presence.silent(parked.request.worker for parked in taken)
            for parked in taken:
                if parked.request.worker not in silent:
                    parties[parked.request.execution_id].append(parked)
            await self._release_doubtful()
            progress = sum([await self._serve(party) for party in parties.values()])
            if not progress:
                self._claims.note_in_vain([one.request for party in parties.values() for one in party])
            return progress
        finally:
            self._park_again([one for one in taken if not one.served and not one.granted.done()])

    def _park_again(self, unserved: list[Parked]) -> None:
        for parked in unserved:
            parked.served = False
            if parked.leaving:
                parked.granted.set_result([])
        self._parked = [parked for parked in unserved if not parked.leaving] + self._parked

    async def _release_doubtful(self) -> None:
        """Releases the grants of claims that broke off at their commit: what they hold never reached a worker."""
        while self._doubtful:
            worker, grant = self._doubtful[-1]
            await self._release(worker, [grant])
            self._doubtful.pop()

    async def _serve(self, group: list[Parked]) -> int:
        try:
            claimed, assigning = await self._claim([parked.request for parked in group])
        except asyncio.CancelledError:  # the server stops: it releases what never reached a worker
            with contextlib.suppress(Unreachable):
                for parked in group:
                    await self._release(parked.request.worker, [parked.request.grant])
            raise
        except Exception:  # raised again: what was leased by then never reached a worker
            self.give_up(group)
            raise
        if items := claimed.items:
            granted = {item.grant for item in items}
            served = [parked for parked in group if parked.request.grant in granted]
            self._note_served(served, items, claimed.probed)
            # By then the next claim is on its way: the database works on it while the inputs are rendered.
            asyncio.get_running_loop().call_soon(self._grant, served, items, assigning)
        if claimed.next_token is not None:
            self._wake_in(claimed.next_token)
        return claimed.progress

    def _note_served(
        self, served: Sequence[Parked], items: Sequence[LeasedItem], probed: Sequence[str]
    ) -> None:
        self.fleet.note_leased(items, probed)
        for parked in served:
            parked.served = True
            self.pace.note_served(parked.request)

    def _grant(self, served: Sequence[Parked], items: Sequence[LeasedItem], assigning: Assigning) -> None:
        """Answers the requests with the items that were leased to them: at once, or in slices where the rendering takes longer."""
        self._note_expiry(items)
        self._core.hub.announce(executions={item.execution_id for item in items})
        turns, answering = Turns(), self._answer_all(served, items, assigning)
        for _ in answering:
            if turns.over:
                self._later(in_slices(answering))
                return

    def _answer_all(
        self, served: Sequence[Parked], items: Sequence[LeasedItem], assigning: Assigning
    ) -> Generator[None, None, None]:
        """Renders the items of one request after the other, and answers each as soon as its own are rendered. Rests after each item."""
        by_grant: dict[str, list[LeasedItem]] = defaultdict(list)
        for item in items:
            by_grant[item.grant].append(item)
        for parked in served:
            assignments: list[Assignment] = []
            broken: list[Report] = []
            own = by_grant.get(parked.request.grant, [])
            for item in own:
                made = assigning.make(item)
                if isinstance(made, Assignment):
                    assignments.append(made)
                else:
                    broken.append(made)
                yield
            self._core.leased.note(own)
            self._answer(parked, assignments)
            if broken:
                self._later(self._report(broken))
                if not parked.granted.done():
                    self._park_again([parked])
                    self._wake.set()

    def _answer(self, parked: Parked, assignments: list[Assignment]) -> None:
        if parked.granted.done():  # the caller has gone meanwhile: nobody else would release it
            self._later(self._release(parked.request.worker, [parked.request.grant]))
        elif assignments:
            parked.granted.set_result(assignments)

    async def _claim(self, requests: Sequence[LeaseRequest]) -> tuple[Claimed, Assigning]:
        """Makes a short claim where it is enough, else a full one."""
        if (asked := self._claims.for_short_claim(requests)) is not None:
            async with self._core.statements() as tx:
                claimed = await self._claims.take_short(tx, asked)
                if claimed is not None:
                    return claimed, await Assigning.prepare(tx, self._core, claimed.items)
        async with self._core.transaction() as tx:
            claimed = await self._claims.take_in_full(tx, requests)
            return claimed, await Assigning.prepare(tx, self._core, claimed.items)

    def _wake_in(self, seconds: float) -> None:
        """Wakes the dispatcher when the rate of a queue allows the next start. Replaces an earlier alarm."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._wake.set)

    def _note_expiry(self, items: Sequence[LeasedItem]) -> None:
        """Tells the timers when the first of these leases or timeouts may run out."""
        settings = self._core.settings
        shortest = min(item.timeout for item in items) + settings.timeout_grace
        self._core.hub.listeners.due(min(settings.lease, shortest))

    def _later(self, work: Awaitable[Any]) -> None:
        async def run() -> None:
            # A lease that cannot be reported now runs out, and is decided on then.
            with contextlib.suppress(Unreachable):
                await work

        task = asyncio.create_task(run())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
