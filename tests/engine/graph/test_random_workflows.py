"""Runs small workflows of Hypothesis on the engine, and compares with a brute-force model of section 6."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from support.hand import Hand, hand_on
from support.profiles import examples
from support.slow_models.naive_graph import RESULTS, Key, Part, World, all_needs, has_circle

from tenax.engine.graph.fan_out import fill_slots
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Report

EXAMPLES = 150
OUTCOMES = ("yes", "yes", "yes", "no", "list", "again", "again", "fatal", "fatal")


@st.composite
def parts(draw: st.DrawFn, name: str, earlier: list[str]) -> Part:
    needs = draw(st.sets(st.sampled_from(earlier), max_size=3)) if earlier else set()
    known = st.sampled_from(sorted(needs)) if needs else None
    whens = [st.none(), st.none(), st.tuples(st.just("is"), st.booleans())]
    lists: list[st.SearchStrategy] = [st.none(), st.none(), st.integers(0, 4)]
    if known is not None:
        whens += [st.tuples(st.sampled_from(["result", "completed"]), known)]
        lists += [known]
    return Part(
        name,
        frozenset(needs),
        goal=draw(st.sampled_from([False, False, True])),
        when=draw(st.one_of(whens)),
        on_failure=draw(st.sampled_from([None, None, "continue", "value"])),
        for_each=draw(st.one_of(lists)),
        parallelism=draw(st.integers(1, 3)),
        tolerate=draw(st.sampled_from([0, 0, 1, 2, "25%", "50%"])),
        max_attempts=draw(st.integers(1, 3)),
        script=tuple(draw(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=6))),
    )


@st.composite
def workflows(draw: st.DrawFn) -> list[Part]:
    names = [f"s{n}" for n in range(draw(st.integers(2, 6)))]
    made = [draw(parts(name, names[:n])) for n, name in enumerate(names)]
    pairs = st.tuples(st.integers(0, len(made) - 1), st.sampled_from(names))
    for n, fallback in draw(st.lists(pairs, max_size=4)):
        if fallback not in (made[n].name, *(part.fallback for part in made)):
            changed = replace(made[n], on_failure="step", fallback=fallback)
            with_it = [*made[:n], changed, *made[n + 1 :]]
            made = made if has_circle(all_needs(with_it)) else with_it
    return made


class Beside:
    """The engine and the model make the same moves."""

    def __init__(self, hand: Hand, made: list[Part], seed: int) -> None:
        self.hand = hand
        self.world = World(made)
        self.dice = random.Random(seed)
        self.held: dict[Key, Assignment] = {}

    async def run(self) -> None:
        source = {"name": "made", "workflow": [part.source() for part in self.world.parts]}
        note(json.dumps(source))
        self.id = await self.hand.submit(json.dumps(source))
        check_at = self.dice.randint(1, 6)
        for move in range(1000):
            await self.compare_ready()
            if move == check_at:
                assert await self.hand.engine.recover() == []
            if not await self.move():
                break
        await self.compare_ends()

    async def move(self) -> bool:
        """False where there is nothing left to do."""
        moves = [self.lease] * bool(self.world.ready) + [self.report] * bool(self.held)
        if self.world.next_due is not None and (not moves or self.dice.random() < 0.2):
            moves = [self.wait]
        if moves:
            await self.dice.choice(moves)()
        return bool(moves)

    async def lease(self) -> None:
        slots = self.dice.randint(1, 4)
        ready = self.world.ready
        leased = await self.hand.lease(slots=slots)
        assert len(leased) == min(slots, len(ready))
        for a in leased:
            key = (a.step, a.item)
            assert key in ready
            assert a.attempt == self.world.lease(key)
            self.held[key] = a

    async def report(self) -> None:
        """One or several in one transaction; no two at the same time."""
        keys = self.dice.sample(sorted(self.held, key=str), self.dice.randint(1, min(3, len(self.held))))
        await self.pass_time(1)
        reports = []
        for key in keys:
            a = self.held.pop(key)
            outcome = _outcome(self.world.by_name[a.step].outcome(a.item, a.attempt))
            reports.append(Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step))
        answers = await self.hand.engine.report(reports)
        assert [answer.status for answer in answers] == ["applied"] * len(keys)
        self.world.report(keys)

    async def wait(self) -> None:
        assert self.world.next_due is not None
        await self.pass_time(self.world.next_due - self.world.now)

    async def pass_time(self, milliseconds: int) -> None:
        await self.hand.clock.advance(milliseconds / 1000)
        await fill_slots(self.hand.engine.context)
        self.world.pass_time(milliseconds)

    async def compare_ready(self) -> None:
        rows = await self.hand.sql(
            "select step, item_no from tenax.item where standing in ('ready', 'restricted') and available_at <= tenax.now()"
        )
        assert {(row["step"], row["item_no"]) for row in rows} == self.world.ready

    async def compare_ends(self) -> None:
        world, execution = self.world, await self.hand.get(self.id)
        steps = execution["steps"]
        assert execution["status"] == world.over
        assert {name: step["status"] for name, step in steps.items()} == world.status
        assert {name: step["goal"] for name, step in steps.items()} == {
            name: name in world.goals for name in steps
        }
        for name, causes in world.causes.items():
            assert steps[name]["failure"]["cause"] in causes
        if world.over == "failed":
            assert execution["failure"]["step"] in world.blamed
            assert execution["result"] is None
        else:
            assert execution["result"] == world.result
        for name in (name for name, status in world.status.items() if status == "completed"):
            assert steps[name]["result"] == world.results[name]
        await self.compare_items(steps)
        assert await self.hand.sql("select from tenax.item") == []

    async def compare_items(self, steps: dict) -> None:
        events = await self.hand.events(self.id)
        started = Counter((e["step"], e["item"]) for e in events if e["type"] == "action_started")
        assert started == Counter({key: item.attempts for key, item in self.world.items.items()})
        for part in self.world.parts:
            mine = {key[1]: item for key, item in self.world.items.items() if key[0] == part.name}
            if part.for_each is None or not mine:
                continue
            counts = Counter(item.state for item in mine.values())
            told = steps[part.name]["items"]
            assert {state: n for state, n in told.items() if n} == {"total": len(mine), **counts}
            listed = await self.hand.engine.items(self.id, part.name)
            assert {i.item: (i.status, i.attempt) for i in listed} == {
                n: (item.state, item.attempts if item.state != "cancelled" else None)
                for n, item in mine.items()
            }


def _outcome(scripted: str) -> Outcome:
    if scripted in RESULTS:
        return Outcome("succeeded", RESULTS[scripted])
    facts = Facts(fatal=True, message="no") if scripted == "fatal" else Facts(status_code=503)
    return Outcome("failed", facts=facts)


def test_the_engine_does_what_the_model_does(
    request: pytest.FixtureRequest, any_database_url: str, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        opened = hand_on(any_database_url, tmp_path)
        hand = runner.run(opened.__aenter__())

        @seed(request.node.name)  # other workflows on each PostgreSQL, but the same ones every time
        @settings(
            max_examples=examples(EXAMPLES),
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(workflows(), st.integers(0, 2**32))
        def compare(made: list[Part], dice: int) -> None:
            runner.run(hand.sql("delete from tenax.item"))  # what a comparison that failed may have left
            runner.run(hand.sql("delete from tenax.execution"))
            runner.run(Beside(hand, made, dice).run())

        try:
            compare()
        finally:
            runner.run(opened.__aexit__(None, None, None))
