"""Makes requests that wait together, workers with a given state, and work under limits."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from support.hand import Hand
from tenax.engine.engine import Engine
from tenax.engine.lease.dispatcher import Dispatcher
from tenax.engine.lease.waiting_requests import WaitingRequest
from tenax.model.wire import PROTOCOL, Assignment, LeaseRequest, Registration, Submission

EVERYTHING = ("python", "http", "process")
MOST_CLAIMS = 300
RETRY = {"max_attempts": 5, "initial_delay": 5, "backoff": "fixed", "jitter": 0}


def one_step(name: str = "one", **keys: Any) -> str:
    """Returns a workflow of one step, which can read `{{ input.key }}`."""
    inputs = {"key": {"type": "string", "default": "k"}}
    call = {} if "type" in keys else {"type": "python", "task": "t:t"}
    step = {"step": "only", **call, "retry": RETRY, **keys}
    return json.dumps({"name": name, "input": inputs, "workflow": [step]})


async def submit_many(hand: Hand, count: int, source: str | None = None, **values: Any) -> list[int]:
    submission = Submission(source=source or one_step(), input=values)
    return [submitted.id for submitted in await hand.engine.submit([submission] * count)]


def ask(worker: str = "w1", slots: int = 10, **more: Any) -> LeaseRequest:
    return LeaseRequest(worker, str(uuid.uuid4()), slots, more.pop("runtimes", EVERYTHING), **more)


async def claim_once(engine: Engine, *requests: LeaseRequest) -> list[list[Assignment]]:
    """Makes one claim for all of these requests together. Returns the items that each of them got."""
    dispatcher = engine.dispatcher
    parked = [dispatcher._add_waiting(request) for request in requests]
    await dispatcher.claim()
    return [await _given(dispatcher, one) for one in parked]


async def claim_all(engine: Engine, *requests: LeaseRequest) -> list[list[Assignment]]:
    """Makes claims like the dispatcher's loop, until nothing is left. Workers ask again for the slots that they still have."""
    dispatcher = engine.dispatcher
    given: list[list[Assignment]] = [[] for _ in requests]
    for _ in range(MOST_CLAIMS):
        asking = [n for n, request in enumerate(requests) if len(given[n]) < request.slots]
        parked = {n: dispatcher._add_waiting(_left(requests[n], len(given[n]))) for n in asking}
        done = await dispatcher.claim()
        for n, one in parked.items():
            given[n] += await _given(dispatcher, one)
        if not done:
            return given
    raise AssertionError("the claims do not end")


async def _given(dispatcher: Dispatcher, parked: WaitingRequest) -> list[Assignment]:
    dispatcher._let_go(parked)
    return await parked.granted


def _left(request: LeaseRequest, taken: int) -> LeaseRequest:
    return LeaseRequest(
        request.worker,
        str(uuid.uuid4()),
        request.slots - taken,
        request.runtimes,
        request.queues,
        request.labels,
        request.execution_id,
    )


async def lease_all(hand: Hand, slots: int = 100, **more: Any) -> list[Assignment]:
    [given] = await claim_all(hand.engine, ask(slots=slots, **more))
    return given


async def stand(hand: Hand, worker: str, health: str = "healthy", depth: int = 0, **more: Any) -> None:
    """Gives a worker this health and this number of leased items."""
    life = more.pop("life", None)
    await hand.engine.register(Registration(worker, EVERYTHING, life=life, protocol=PROTOCOL))
    if depth:
        await submit_many(hand, depth, one_step(queue="stock"))
        assert len(await hand.lease(worker, slots=depth, queues=("stock",))) == depth
    columns = {"health": health, **more}
    settings = ", ".join(f"{name} = ${n}" for n, name in enumerate(columns, 2))
    await hand.sql(f"update tenax.worker set {settings} where name = $1", worker, *columns.values())


async def know_the_fleet(hand: Hand) -> None:
    """Reads the state of the fleet, as the server does every second."""
    await hand.engine.dispatcher.fleet.catch_up()


async def servers(hand: Hand, count: int) -> list[Hand]:
    """Returns several servers on one database, starting with this one."""
    return [hand, *[await hand.restarted() for _ in range(count - 1)]]


def look_anew(hand: Hand) -> None:
    """Makes the queue snapshot expire. Time has passed by the database's clock, but not by that of the process."""
    hand.engine.context.notifier.listeners.restricted()


def by_execution(leased: Sequence[Assignment]) -> Counter[int]:
    return Counter(a.execution_id for a in leased)


async def running(hand: Hand) -> Counter[str]:
    """Returns the number of running items under each limit."""
    rows = await hand.sql(
        """
        select g.gate, count(*) as n
          from tenax.item i cross join lateral unnest(array[(i.limits).action, (i.limits).key]) as g (gate)
         where i.state in ('leased', 'accepted') and g.gate is not null
         group by g.gate
        """
    )
    return Counter({row["gate"]: row["n"] for row in rows})


async def left_out(hand: Hand) -> list[int]:
    """Returns the items that could run, because all of their limits have room. Only useful if slots are not scarce."""
    rows = await hand.sql(
        """
        with running as (
            select g.gate, count(*) as n
              from tenax.item i cross join lateral unnest(array[(i.limits).action, (i.limits).key]) as g (gate)
             where i.state in ('leased', 'accepted') and g.gate is not null
             group by g.gate
        )
        select i.id
          from tenax.item i
          left join running a on a.gate = (i.limits).action
          left join running k on k.gate = (i.limits).key
         where i.standing in ('ready', 'restricted', 'blocked') and i.available_at <= tenax.now()
           and ((i.limits).action is null or coalesce(a.n, 0) < (i.limits).action_most)
           and ((i.limits).key is null or coalesce(k.n, 0) < (i.limits).key_most)
        """
    )
    return [row["id"] for row in rows]
