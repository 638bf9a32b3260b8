"""Plays a scenario on an engine driven by hand, and tells everything that it left behind.

The engine is whichever `tenax` can be imported: this file is also run by a process that imports an older one (`against.py`).
It therefore uses only what both have.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from tenax.engine.engine import Engine

with contextlib.suppress(ImportError):  # an earlier engine has no actions
    from tenax.engine.operate.operator_action import ActionRequest
from tenax.engine.graph import fan_out
from tenax.errors import TenaxError
from tenax.model import wire
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import (
    Assignment,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    Release,
    Report,
    Submission,
)
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.for_tests.fake_clock import FakeClock
from tenax.store.transaction import transaction

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
WORKERS = ("w1", "w2")
SLOTS = 500
ROUNDS_TO_END = 60
"""Rounds of leases and successes after which every execution must have ended."""
TABLES = (
    "execution",
    "step",
    "item",
    "fan",
    "item_result",
    "signal",
    "inbox",
    "worker",
    "worker_window",
    "worker_loss",
)
EMPTIED = (*TABLES, "dead_letter", "log", "workflow", "policy", "plan", "queue_limit")
IGNORED = {"xid"}
EXECUTION_IDS = {
    "execution_id",
    "retry_of",
    "original_execution",
    "carried_from",
    "parent_id",
    "serves",
    "lane",
    "child",
    "because_of",
}
"""The keys under which rows and events keep the id of an execution."""


# An engine of an earlier commit has other names for some of its parts.
_fill_slots = getattr(fan_out, "fill_slots", None) or fan_out.feed
_PROTOCOL: dict[str, Any] = {"protocol": wire.PROTOCOL} if hasattr(wire, "PROTOCOL") else {}
"""The protocol version that a worker sends. The earliest engines know none."""


def _context(engine: Engine) -> Any:
    return getattr(engine, "context", None) or engine.core


def _inbox_delivery(engine: Engine) -> Any:
    return getattr(engine, "inbox_delivery", None) or engine.postman


def _lease_cache(engine: Engine) -> Any:
    context = _context(engine)
    return context.lease_cache if hasattr(context, "lease_cache") else context.leased


class Stage:
    """Holds one engine on one database. Each scenario begins with empty tables."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._clock = FakeClock(database)

    async def play(self, scenario: Mapping[str, Any], *, forgetful: bool = False) -> list[Any]:
        """Returns the answers of all calls, and the rows and events that each look found.

        `forgetful`: the engine forgets its leases before each report, as if another server had granted them.
        """
        await self._clear()
        engine = Engine(self._database, self._settings, roll=lambda: 0.5)
        await engine.prepare()
        return await _Play(engine, self._clock, forgetful).run(scenario)

    async def _clear(self) -> None:
        names = ", ".join(f"tenax.{name}" for name in EMPTIED)
        async with transaction(self._database) as tx:
            await tx.execute(f"truncate {names} restart identity cascade")
            for name in ("execution_id", "item_id", "event_id"):
                await tx.execute(f"alter sequence tenax.{name} restart")
        await self._clock.install()
        async with transaction(self._database) as tx:
            await tx.execute("update tenax.fake_clock set at = $1", BEGINNING)
            await tx.execute(
                "update tenax.service set alive_at = $1, reap_after = null, leader_until = null", BEGINNING
            )


class _Play:
    def __init__(self, engine: Engine, clock: FakeClock, forgetful: bool) -> None:
        self.engine = engine
        self.clock = clock
        self.forgetful = forgetful
        self.begun: datetime
        self.roots: list[int] = []
        self.held: list[Assignment] = []
        self.done: list[tuple[Assignment, Outcome]] = []
        self.called: list[Assignment] = []
        self.tokens: dict[str, str] = {}
        self.told: list[Any] = []
        self.sources: list[str] = []

    async def run(self, scenario: Mapping[str, Any]) -> list[Any]:
        self.begun = await self.clock.now()
        for worker in WORKERS:
            await self.engine.register(Registration(worker, ("python", "http", "process"), **_PROTOCOL))
        self.sources = list(scenario["workflows"])
        for source in scenario.get("stored", ()):
            await self.engine.store_workflow(source)
        for move in scenario["moves"]:
            self._set_roll(move.get("roll", 0.5))
            try:
                answer = await getattr(self, "_" + move["do"])(move)
            except TenaxError as error:
                answer = {"error": await self._with_names(f"{type(error).__name__}: {error}")}
            self.told.append({"move": move["do"], "answer": answer})
            await self._pass(move.get("then", 0.001))
        await self._look({})
        await self._end()
        await self._look({})
        return self.told

    def _set_roll(self, value: float) -> None:
        """Gives every decision of a move the same roll, so that their order does not matter."""
        _context(self.engine).roll = lambda: value

    # -- the moves

    async def _submit(self, move: Mapping[str, Any]) -> Any:
        starts = [
            Submission(source=self.sources[n % len(self.sources)], input=move.get("input", {}), key=key)
            for n, key in move["starts"]
        ]
        answers = await self.engine.submit(starts)
        self.roots += [a.id for a in answers if a.created]
        return [[self.roots.index(a.id), a.created] for a in answers]

    async def _lease(self, move: Mapping[str, Any]) -> Any:
        request = LeaseRequest(
            WORKERS[move.get("worker", 0)], str(uuid.uuid4()), SLOTS, ("python", "http", "process")
        )
        got = await self.engine.dispatcher.lease_now(request)
        names = await self._names()
        got.sort(
            key=lambda a: (
                names.get(a.execution_id, ""),
                a.step,
                -1 if a.item is None else a.item,
                a.compensates,
            )
        )
        for a in got:
            self.tokens[a.token] = f"{names[a.execution_id]}/{a.step}/{a.item}/{a.compensates}#{a.attempt}"
        self.held += got
        self.called += [a for a in got if a.callback is not None]
        return [[self.tokens[a.token], a.spec, a.timeout, a.max_attempts, a.is_retry] for a in got]

    async def _report(self, move: Mapping[str, Any]) -> Any:
        reports = []
        for which, outcome in move["outcomes"]:
            if self.held:
                a = self.held.pop(which % len(self.held))
                self.done.append((a, _outcome(outcome)))
                reports.append(_report(*self.done[-1]))
        return await self._send(reports)

    async def _work(self, move: Mapping[str, Any]) -> Any:
        """Leases what is ready, and reports on some of the leases."""
        return [await self._lease(move), await self._report(move)]

    async def _repeat(self, move: Mapping[str, Any]) -> Any:
        """Repeats a report that was sent before, or reports on a lease that was lost since."""
        return await self._send([_report(*self.done[move["which"] % len(self.done)])] if self.done else [])

    async def _send(self, reports: list[Report]) -> Any:
        if self.forgetful:
            for report in reports:
                _lease_cache(self.engine).take(report.token)
        answers = await self.engine.report(reports)
        return [[self.tokens[r.token], a.status, a.verdict] for r, a in zip(reports, answers, strict=True)]

    async def _lose(self, move: Mapping[str, Any]) -> Any:
        """Lets the worker of an item fall silent. A report on it may still come, late."""
        if self.held:
            self.done.append((self.held.pop(move["which"] % len(self.held)), Outcome("succeeded", {"n": 1})))

    async def _release(self, move: Mapping[str, Any]) -> Any:
        if self.held:
            a = self.held.pop(move["which"] % len(self.held))
            await self.engine.release([Release(a.execution_id, a.item_id, a.attempt, a.token, "draining")])

    async def _beat(self, _move: Mapping[str, Any]) -> Any:
        held = tuple(Held(a.item_id, a.token) for a in self.held)
        for worker in WORKERS:
            await self.engine.heartbeat(Heartbeat(worker, held))

    async def _call_back(self, move: Mapping[str, Any]) -> Any:
        if self.called:
            a = self.called[move["which"] % len(self.called)]
            answer = await self.engine.callback(
                a.execution_id, a.item_id, a.attempt, a.receipt, _outcome(move["outcome"]), step=a.step
            )
            return [answer.status, answer.verdict]
        return None

    async def _signal(self, move: Mapping[str, Any]) -> Any:
        if id_ := self._root(move):
            await self.engine.signal(id_, "go", data=move["which"], actor="test")

    async def _cancel(self, move: Mapping[str, Any]) -> Any:
        return await self.engine.cancel(id_, actor="test") if (id_ := self._root(move)) else None

    async def _pause(self, move: Mapping[str, Any]) -> Any:
        return await self.engine.pause(id_, actor="test") if (id_ := self._root(move)) else None

    async def _resume(self, move: Mapping[str, Any]) -> Any:
        return await self.engine.resume(id_, actor="test") if (id_ := self._root(move)) else None

    async def _retry(self, move: Mapping[str, Any]) -> Any:
        if not (id_ := self._root(move)):
            return None
        is_open = (await self.engine.get(id_)).status in ("running", "paused")
        if hasattr(self.engine, "act"):
            retry = (
                self.engine.act(id_, ActionRequest("retry"), actor="test")
                if is_open
                else self.engine.run_anew(id_, actor="test")
            )
        else:  # an earlier engine, which gives a dict
            retry = self.engine.retry(id_, actor="test")
        answer = to_builtins(await retry)
        if not is_open:
            self.roots.append(answer["id"])
        return [not is_open, answer.get("steps")]

    async def _settle(self, _move: Mapping[str, Any]) -> Any:
        """Does what the server's own loops would do now."""
        engine = self.engine
        while (
            await engine.server_steps.start()
            + await _inbox_delivery(engine).deliver()
            + await _fill_slots(_context(engine))
            + await engine.reap()
        ):
            pass

    async def _wait(self, move: Mapping[str, Any]) -> Any:
        await self._pass(move["seconds"])
        await self._settle({})

    async def _look(self, _move: Mapping[str, Any]) -> Any:
        self.told.append(await self._everything())

    def _root(self, move: Mapping[str, Any]) -> int | None:
        return self.roots[move["which"] % len(self.roots)] if self.roots else None

    async def _pass(self, seconds: float) -> None:
        while seconds > 0:
            await self.clock.advance(min(seconds, 10))
            await self.engine.beat()
            seconds -= 10

    async def _end(self) -> None:
        """Leads every execution to its end, without further failures."""
        self._set_roll(0.5)
        for _ in range(ROUNDS_TO_END):
            await self._settle({})
            for id_ in self.roots:
                with contextlib.suppress(TenaxError):
                    await self.engine.resume(id_, actor="test")
            open_ones = await self.engine.list(states=["running"], limit=500)
            if not open_ones:
                return
            for id_ in self.roots:
                with contextlib.suppress(TenaxError):
                    await self.engine.signal(id_, "go", actor="test")
            self.told.append(await self._lease({}))
            everything = [[0, {"status": "succeeded", "result": {"n": 9, "list": [1]}}]] * len(self.held)
            self.told.append(await self._report({"outcomes": everything}))
            await self._pass(20)
        self.told.append({"unfinished": len(open_ones)})

    # -- everything there is, with names in the place of ids

    async def _with_names(self, text: str) -> str:
        """Returns an error text with the names of executions in the place of their ids."""
        return _with_names(text, await self._names())

    async def _names(self) -> dict[int, str]:
        """Returns names of executions: by their place in the order of submission, and for children by their item."""
        rows = await self._rows(
            "select id, parent_id, parent_step, parent_item_no, parent_attempt from tenax.execution order by id"
        )
        names: dict[int, str] = {}
        for row in rows:
            if row["parent_id"] is None:
                place = self.roots.index(row["id"]) if row["id"] in self.roots else f"unknown {row['id']}"
                names[row["id"]] = f"e{place}"
            else:
                of = (
                    names[row["parent_id"]],
                    row["parent_step"],
                    row["parent_item_no"],
                    row["parent_attempt"],
                )
                names[row["id"]] = ".".join(map(str, of))
        return names

    async def _everything(self) -> dict[str, Any]:
        await self.engine.look_after_fleet()  # writes what attempts came to on their workers
        names = await self._names()
        plans = {r["id"]: r["hash"] for r in await self._rows("select id, hash from tenax.plan")}
        items = {
            r["id"]: f"{names[r['execution_id']]}/{r['step']}/{r['item_no']}/{r['compensates']}"
            for r in await self._rows(
                "select id, execution_id, step, item_no, compensates from tenax.item order by id"
            )
        }
        plain = _Plain(self.begun, names, items, plans, self.tokens)
        found: dict[str, Any] = {"items in order": _by_fan_out(items.values())}
        for table in TABLES:
            rows = [plain.row(dict(row)) for row in await self._rows(f"select * from tenax.{table}")]
            found[table] = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))
        log = await self._rows("select execution_id, at, events from tenax.log order by id")
        events: dict[str, list[Any]] = {}
        for row in log:
            of = names.get(row["execution_id"], "fleet")
            events.setdefault(of, []).extend(
                [plain.time(row["at"]), plain.value(event)] for event in json.loads(row["events"])
            )
        found["events"] = events
        return found

    async def _rows(self, query: str) -> Any:
        async with transaction(_context(self.engine).database) as tx:
            return await tx.fetch(query)


def _by_fan_out(items: Any) -> dict[str, list[str]]:
    """Returns the items of each step in the order of their ids, in which waiting items are started."""
    found: dict[str, list[str]] = {}
    for name in items:
        found.setdefault("/".join(name.split("/")[:2]), []).append(name)
    return found


class _Plain:
    """Converts rows and events to the form that they would have in any database: ids have names, and times count from the beginning."""

    def __init__(
        self,
        begun: datetime,
        names: dict[int, str],
        items: dict[int, str],
        plans: dict[int, str],
        tokens: dict[str, str],
    ) -> None:
        self._begun = begun
        self._names = names
        self._items = items
        self._plans = plans
        self._tokens = tokens

    def time(self, at: datetime) -> float:
        return round((at - self._begun).total_seconds(), 6)

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        is_named = "parent_id" in row
        found: dict[str, Any] = {}
        for name, value in row.items():
            if value is None or name in IGNORED:
                continue
            if name == "id":
                found[name] = self._names.get(value) if is_named else self._items.get(value, "own")
            elif name in ("parent_item", "taken_by"):
                found[name] = "item"
            elif name == "items":
                found[name] = len(value)
            elif name == "plan_id":
                found[name] = self._plans[value]
            elif isinstance(value, str) and value[:1] in ("{", "["):
                found[name] = self.value(json.loads(value))
            else:
                found[name] = self.value(value, name)
        return found

    def value(self, value: Any, name: str = "") -> Any:
        match value:
            case datetime():
                return self.time(value)
            case timedelta():
                return value.total_seconds()
            case uuid.UUID():
                return self._tokens.get(str(value), "uuid")
            case dict():
                return {key: self.value(one, key) for key, one in value.items() if key != "item_id"}
            case list() | tuple():
                return [self.value(one, name) for one in value]
            case int() if name in EXECUTION_IDS and value in self._names:
                return self._names[value]
            case str() if value in self._tokens:
                return self._tokens[value]
            case str() if name.endswith(("_at", "at")) and re.match(r"\d{4}-\d\d-\d\dT", value):
                return self.time(datetime.fromisoformat(value))
            case str() if found := re.fullmatch(r"tenax:child:(\d+)(:.*)", value):
                return f"tenax:child:{self._names.get(int(found[1]), '?')}{found[2]}"
            case str() if value.startswith("child:"):
                return f"child:{self._names.get(int(value[6:]), '?')}"
            case str():
                return _with_names(value, self._names)
            case _:
                return value


def _with_names(text: str, names: Mapping[int, str]) -> str:
    return re.sub(r"execution (\d+)", lambda found: f"execution {names.get(int(found[1]), '?')}", text)


def _report(a: Assignment, outcome: Outcome) -> Report:
    return Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item)


def _outcome(body: Mapping[str, Any]) -> Outcome:
    known = dict(body.get("facts", {}))
    if "exception_bases" in known:
        known["exception_bases"] = tuple(known["exception_bases"])
    facts = Facts(**known) if "facts" in body else None
    usage = Usage(**body["usage"]) if "usage" in body else None
    return Outcome(body["status"], body.get("result"), facts=facts, after=body.get("after"), usage=usage)


@contextlib.asynccontextmanager
async def stage_on(url: str, home: Path, **settings: Any) -> AsyncIterator[Stage]:
    chosen = Settings(home=home, database_url=url, callback_url="http://tenax.test", **settings)
    async with Database.open(chosen) as database:
        yield Stage(database, chosen)


async def _serve(url: str, home: Path) -> None:
    """Plays the scenarios that arrive as lines of JSON, and answers each with a line."""
    loop = asyncio.get_running_loop()
    async with stage_on(url, home) as stage:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            scenario = json.loads(line)
            told = await stage.play(scenario, forgetful=scenario.pop("forgetful", False))
            sys.stdout.write(json.dumps(told, default=str) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2])))
