"""Runs random executions with every feature: children, waits, callbacks, polls, fan-outs, compensations, pauses, restarts."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

from support.hand import Hand
from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import Conflict, UsageError
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import Assignment, Release

UNDO = 'compensate: {type: python, task: "t:u", args: {got: "{{ result }}"}, retry: {max_attempts: 2, initial_delay: 3}}'
CHILD = f"""
name: child
input: {{n: {{default: 0}}}}
workflow:
  - {{step: nap, type: sleep, for: 2s}}
  - {{step: do, type: python, task: "t:t", needs: [nap], retry: {{max_attempts: 2, initial_delay: 2}}, {UNDO}}}
  - {{step: end, type: python, task: "t:t", needs: [do]}}
"""
PARENT = f"""
name: parent
workflow:
  - step: job
    type: http
    url: http://callee.test/
    async: {{deadline: 40s}}
    retry: {{max_attempts: 3, initial_delay: 4, jitter: 0.5}}
    {UNDO}
  - step: poll
    type: python
    task: t:t
    args: {{last: "{{{{ previous }}}}"}}
    until: {{condition: result.n > 0.6, delay: 3s, max_polls: 4}}
    retry: {{max_attempts: 3, initial_delay: 2, vary: [{{}}, {{args: {{more: 1}}}}]}}
    {UNDO}
  - step: call
    type: workflow
    workflow: child
    timeout: 90s
    needs: [job]
    for_each: [1, 2, 3]
    parallelism: 2
    tolerate: 1
    retry: {{max_attempts: 2, initial_delay: 5, retry_on: [child_failed]}}
    {UNDO}
  - {{step: told, type: wait, signal: go, deadline: 60s, needs: [poll], retry: 2}}
  - {{step: allowed, type: wait, needs: [told], on_failure: continue}}
  - step: each
    type: python
    task: t:t
    needs: [allowed]
    for_each: [a, b, c, d]
    parallelism: 2
    tolerate: 25%
    retry: {{max_attempts: 2, initial_delay: 2}}
    {UNDO}
  - {{step: last, type: python, task: "t:t", needs: [each, call], retry: 2}}
"""


def without_undo(source: str) -> str:
    """The same workflow without compensations: it can be opened again after it has failed."""
    return source.replace(f", {UNDO}", "").replace(f"    {UNDO}\n", "")


class Night:
    source = PARENT

    def __init__(self, hand: Hand, seed: int, *, operators: int = 0, repeats: int = 0) -> None:
        self.hand = hand
        self.dice = random.Random(seed)
        self.held: list[Assignment] = []
        self.calls: list[Assignment] = []
        self.done: list[tuple[Assignment, Outcome]] = []
        self.operators = [self.operate] * operators
        """How often operators act, beside the moves of all others."""
        self.acted: Counter[str] = Counter()
        self.repeats = [self.repeat] * repeats
        """How often workers repeat a report, or report on an attempt that they had lost."""
        hand.engine.context.roll = self.dice.random

    async def play(self, moves: int) -> None:
        there_are = [self.lease, self.lease, self.report, self.report, self.report, self.call_back, self.call_back,
                     self.signal, self.approve, self.submit, self.beat, self.beat, self.freeze, self.hand_back,
                     self.cancel, self.pause, self.resume, self.resume, self.restart, *self.operators, *self.repeats]  # fmt: skip
        for _ in range(moves):
            await self.dice.choice(there_are)()
            await self.hand.pass_time(self.dice.choice([0, 0, 0.5, 2, 7]))
            await self.hand.settle_down()

    async def submit(self) -> None:
        if self.dice.random() < 0.4:
            await self.hand.submit(self.source)

    async def lease(self) -> None:
        got = await self.hand.lease(self.dice.choice(["w1", "w2"]), slots=self.dice.randint(1, 4))
        self.held += got
        self.calls += [a for a in got if a.callback is not None]

    def take(self) -> Assignment | None:
        return self.held.pop(self.dice.randrange(len(self.held))) if self.held else None

    def outcome(self, kind: str | None = None) -> Outcome:
        kind = kind or self.dice.choice(["good"] * 5 + ["busy", "busy", "fatal", "again", "later"])
        match kind:
            case "good":
                return Outcome("succeeded", {"n": self.dice.random()})
            case "busy":
                return Outcome("failed", facts=Facts(status_code=503), usage=Usage(cost_usd=0.5))
            case "fatal":
                return Outcome("failed", facts=Facts(fatal=True, message="no"), result={"why": "because"})
            case "again":
                return Outcome("not_completed", facts=Facts())
            case _:
                return Outcome("snoozed", after=2.0)

    async def report(self) -> None:
        if a := self.take():
            takes_on = a.callback is not None and self.dice.random() < 0.8
            self.done.append((a, Outcome("accepted") if takes_on else self.outcome()))
            await self.hand.report(*self.done[-1])

    async def repeat(self) -> None:
        if self.done:
            await self.hand.report(*self.dice.choice(self.done))

    async def call_back(self) -> None:
        if self.calls:
            a = self.dice.choice(self.calls)
            outcome = self.outcome(self.dice.choice(["good", "busy", "fatal"]))
            await self.hand.engine.callback(
                a.execution_id, a.item_id, a.attempt, a.receipt, outcome, step=a.step
            )

    async def signal(self) -> None:
        for id_ in await self.some("running", "parent"):
            with contextlib.suppress(Conflict):
                await self.hand.engine.signal(id_, "go", data=self.dice.random(), actor="dice")

    async def approve(self) -> None:
        for id_ in await self.some("running", "parent"):
            with contextlib.suppress(Conflict):
                yes = self.dice.random() < 0.7
                await self.hand.engine.decide_approval(id_, "allowed", approved=yes, actor="dice")

    async def beat(self) -> None:
        for worker in ("w1", "w2"):
            await self.hand.beat(*self.held, worker=worker)

    async def freeze(self) -> None:
        if a := self.take():
            self.done.append((a, Outcome("succeeded")))

    async def hand_back(self) -> None:
        if a := self.take():
            await self.hand.engine.release(
                [Release(a.execution_id, a.item_id, a.attempt, a.token, "draining")]
            )

    async def cancel(self) -> None:
        if self.dice.random() < 0.2:
            for id_ in await self.some("running"):
                await self.hand.engine.cancel(id_, actor="dice")

    async def pause(self) -> None:
        if self.dice.random() < 0.5:
            for id_ in await self.some("running"):
                await self.hand.engine.pause(id_, actor="dice")

    async def resume(self) -> None:
        for id_ in await self.some("paused"):
            await self.hand.engine.resume(id_, actor="dice")

    async def operate(self) -> None:
        """An operator acts on something, which may be illegal just now."""
        found = await self.hand.engine.list(states=["running", "failed", "paused"], limit=500)
        if not found:
            return
        one = self.dice.choice(found)
        steps = (await self.hand.engine.get(one.id)).steps
        action = self.dice.choice(["retry", "retry", "reset", "resolve", "complete", "fail"])
        step = None if action == "retry" and self.dice.random() < 0.5 else self.dice.choice(sorted(steps))
        counts = steps[step].items if step is not None else None
        item = self.dice.randrange(counts["total"]) if counts and self.dice.random() < 0.5 else None
        asked = ActionRequest(
            action, step, item, reason="the dice say so", result=7 if action == "complete" else None,
            has_result=action == "complete",
        )  # fmt: skip
        try:
            await self.hand.engine.act(one.id, asked, actor="dice")
            self.acted[action] += 1
        except (Conflict, UsageError):
            self.acted["refused"] += 1

    async def restart(self) -> None:
        self.hand = await self.hand.restarted()

    async def some(self, state: str, workflow: str | None = None) -> list[int]:
        found = await self.hand.engine.list(states=[state], workflow=workflow, limit=500)
        return [self.dice.choice(found).id] if found else []

    async def dawn(self) -> None:
        """Lets everything that is open go on, without further failures."""
        for _ in range(200):
            await self.hand.settle_down()
            for paused in await self.hand.engine.list(states=["paused"], limit=500):
                await self.hand.engine.resume(paused.id, actor="dawn")
            open_ones = await self.hand.engine.list(states=["running"], limit=500)
            if not open_ones:
                return
            for one in open_ones:
                if one.workflow != "parent":
                    continue
                with contextlib.suppress(Conflict):
                    await self.hand.engine.decide_approval(one.id, "allowed", approved=True, actor="dawn")
            for a in await self.hand.lease("w3", slots=50):
                await self.hand.report(a, Outcome("succeeded", {"n": 1.0}))
            await self.hand.pass_time(20)
        raise AssertionError(f"these executions have not ended: {[one.id for one in open_ones]}")


async def begin_to_undo(hand: Hand, count: int) -> None:
    """Returns the executions that have failed and have something to undo."""
    for _ in range(count):
        await hand.submit(CHILD)
    await hand.settle_down()
    await hand.pass_time(2)
    await hand.settle_down()
    for a in await hand.lease():
        await hand.succeed(a)
    for a in await hand.lease():
        await hand.fail(a, status_code=404)
