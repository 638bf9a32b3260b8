"""Makes histories by hand, for the laws: events in the order in which the engine writes them, and the rows beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import DECIDER_VERSION, NO_CONTROLS, Ledger
from tenax.model.events import timestamp
from tenax.model.parse.parse import parse_workflow
from tenax.policy.laws import ExecutionCheck, VerifyTally
from tenax.policy.laws.facts import (
    ExecutionFacts,
    FanOutFacts,
    ItemFacts,
    ItemResultFacts,
    LetterFacts,
    LoggedEvent,
    Rows,
    StepFacts,
)
from tenax.policy.plan import Plan, make_plan
from tenax.policy.retry.decide import decide

DAWN = datetime(2026, 1, 1, tzinfo=UTC)
EXECUTION = 7
PLAIN = {"verdict": "complete", "rule": "succeeded", "version": DECIDER_VERSION}

ONE = """
name: one
workflow: [{step: a, type: python, task: "t:t", retry: {max_attempts: 3, initial_delay: 1, jitter: 0}}]
"""
GRAPH = """
name: graph
workflow:
  - {step: a, type: python, task: "t:t", compensate: {type: python, task: "t:u"}}
  - {step: b, type: python, task: "t:t", compensate: {type: python, task: "t:u"}}
  - {step: each, type: python, task: "t:t", needs: [a, b], for_each: [x, y], parallelism: 1}
"""


def started(attempt: int) -> dict[str, Any]:
    """Returns the data of an attempt that a worker has leased."""
    return {"worker": "w1", "retry": {"attempt": attempt, "max_attempts": 3, "is_retry": attempt > 1}}


def plan_of(source: str) -> Plan:
    return make_plan(parse_workflow(source), None)


class History:
    """Holds the events and rows of one execution. Each event is a transaction of its own, a second after the one before."""

    def __init__(self, source: str) -> None:
        self.plan = plan_of(source)
        self.events: list[LoggedEvent] = []
        self.rows = Rows(
            ExecutionFacts(id=EXECUTION, plan_id=1, state="running", open_steps=1, created_at=DAWN)
        )
        self.item_rows: dict[tuple[str, int], ItemFacts] = {}
        self.item_results: dict[tuple[str, int], ItemResultFacts] = {}
        self.item_letters: dict[tuple[str, int], LetterFacts] = {}

    def at(self) -> datetime:
        """Returns the time of the next event."""
        return DAWN + timedelta(seconds=len(self.events))

    def add(
        self,
        type_: str,
        step: str | None = None,
        *,
        item: int | None = None,
        attempt: int | None = None,
        token: str | None = None,
        together: bool = False,
        **data: Any,
    ) -> LoggedEvent:
        """Adds an event. With `together` it has the time and the transaction of the event before."""
        at = self.events[-1].at if together else self.at()
        transaction = self.events[-1].transaction if together else 1000 + len(self.events)
        found = LoggedEvent(
            32 * (len(self.events) + 1), type_, at, step, item, attempt, token, data, transaction
        )
        self.events.append(found)
        return found

    def start(self, step: str, attempt: int = 1, *, item: int | None = None) -> None:
        self.add("action_started", step, item=item, attempt=attempt, **started(attempt))

    def succeed(self, step: str, result: Any = None, *, item: int | None = None, attempt: int = 1) -> None:
        token = f"token-{step}-{item}-{attempt}"
        self.add(
            "action_completed", step, item=item, attempt=attempt, token=token, result=result, decision=PLAIN
        )
        ended = "step_completed" if item is None else "item_completed"
        self.add(ended, step, item=item, together=True, attempts=attempt)

    def fail_once(self, step: str, enqueued_at: datetime) -> None:
        """Adds a failure that is retried after a second."""
        outcome = Outcome("failed", facts=Facts(status_code=503))
        failure = classify(Facts(status_code=503), status="failed").as_dict()
        ended = self.add(
            "action_error", step, attempt=1, token="token-1", error=failure["message"], failure=failure
        )
        decision = decide(
            self.plan.steps[step].policy, Ledger(elapsed=(ended.at - enqueued_at).total_seconds()), outcome,
            attempt=1, elapsed=(ended.at - enqueued_at).total_seconds(), controls=NO_CONTROLS, roll=0.5,
            execution_id=EXECUTION, step=step,
        )  # fmt: skip
        assert decision.delay is not None
        self.add(
            "step_retry", step, attempt=1, together=True, max_attempts=3, delay_seconds=decision.delay.delay, decision=decision.as_dict(),
            available_at=timestamp(ended.at + timedelta(seconds=decision.delay.delay)), last_error=failure["message"],
        )  # fmt: skip
        self.change_data("step_retry", -1, attempt=1)

    def change(self, type_: str, number: int = 0, /, **changes: Any) -> None:
        """Changes the event of this type that has this position among them."""
        place = self._place(type_, number)
        self.events[place] = self.events[place]._replace(**changes)

    def change_data(self, type_: str, number: int = 0, /, **data: Any) -> None:
        found = self.events[self._place(type_, number)]
        self.change(type_, number, data={**found.data, **data})

    def change_decision(self, type_: str, number: int = 0, /, **changes: Any) -> None:
        found = self.events[self._place(type_, number)].decision or {}
        self.change_data(type_, number, decision={**found, **changes})

    def remove(self, type_: str, number: int = 0, /) -> None:
        del self.events[self._place(type_, number)]

    def repeat(self, type_: str, number: int = 0, /) -> None:
        """Adds the same event once more, directly after itself."""
        place = self._place(type_, number)
        again = self.events[place]._replace(id=self.events[place].id + 1, token=None)
        self.events.insert(place + 1, again)

    def _place(self, type_: str, number: int) -> int:
        return [place for place, found in enumerate(self.events) if found.type == type_][number]

    def change_row(self, **changes: Any) -> None:
        self.rows.execution = replace(self.rows.execution, **changes)

    def check(self) -> VerifyTally:
        tally = VerifyTally()
        check = ExecutionCheck(EXECUTION, self.plan, tally)
        for found in self.events:
            check.see(found)
        check.compare(self.rows)
        keys = {(e.step, e.item) for e in self.events if e.item is not None and e.step is not None}
        for step, item in sorted({*keys, *self.item_rows, *self.item_results}):
            work = check.item_work(step, item, undoes=False)
            assert work is not None
            for found in self.events:
                if (found.step, found.item) == (step, item):
                    check.see_item(work, found)
            rows = self.item_rows.get((step, item)), self.item_results.get((step, item))
            check.compare_item(work, *rows, self.item_letters.get((step, item)))
        return tally

    def broken(self) -> set[str]:
        return {violation.law for violation in self.check().violations}


def one_retry() -> History:
    """Returns the history of a step that fails, waits a second, and succeeds."""
    history = History(ONE)
    history.add("execution_started", workflow="one")
    enqueued = history.add("step_enqueued", "a", together=True)
    history.start("a")
    history.fail_once("a", enqueued.at)
    history.start("a", 2)
    _succeed_again(history, enqueued.at)
    history.add("step_completed", "a", together=True, attempts=2)
    final = history.add("execution_completed", together=True)
    history.change_row(
        state="completed", open_steps=0, result={"a": 42}, finished_at=final.at, has_work=False
    )
    return history


def _succeed_again(history: History, enqueued_at: datetime) -> None:
    """Adds the success of a second attempt, with its whole decision."""
    before = Ledger.from_dict((history.events[-2].decision or {})["after"])
    elapsed = (history.at() - enqueued_at).total_seconds()
    before.elapsed = elapsed
    decision = decide(
        history.plan.steps["a"].policy, before, Outcome("succeeded", 42), attempt=2, elapsed=elapsed,
        controls=NO_CONTROLS, roll=0.5, execution_id=EXECUTION, step="a",
    )  # fmt: skip
    history.add(
        "action_completed",
        "a",
        attempt=2,
        token="token-2",
        result=42,
        decision=decision.as_dict(),
    )


def waiting_retry() -> History:
    """Returns the history of `one_retry` while the retry is waited for."""
    history = one_retry()
    del history.events[5:]
    retry = history.events[-1]
    due = retry.at + timedelta(seconds=1)
    row = ItemFacts(
        step="a", item=None, undoes=False, state="retrying", available_at=due,
        created_at=history.events[1].at, attempt=1, max_attempts=3, ledger=(retry.decision or {})["after"],
        last_error=retry.data["last_error"],
    )  # fmt: skip
    history.rows.items = [row]
    history.change_row(state="running", open_steps=1, result=None, finished_at=None, has_work=True)
    return history


def graph() -> History:
    """Returns the history of two steps followed by a fan-out of two items."""
    history = History(GRAPH)
    history.add("execution_started", workflow="graph")
    for step in ("a", "b"):
        history.add("step_enqueued", step, together=True)
    for step in ("a", "b"):
        history.start(step)
        history.succeed(step, step.upper())
    history.add("step_enqueued", "each", together=True, items=2, parallelism=1)
    for item in (0, 1):
        history.start("each", item=item)
        history.succeed("each", item, item=item)
        history.item_results["each", item] = ItemResultFacts(
            step="each", item=item, state="succeeded", attempts=1, result=item
        )
    history.add(
        "step_completed", "each", together=True, attempts=2, items={"total": 2, "succeeded": 2, "failed": 0}
    )
    final = history.add("execution_completed", together=True)
    history.change_row(
        state="completed", open_steps=0, result_gathered=True, finished_at=final.at, has_work=False
    )
    history.rows.steps = {
        "a": StepFacts(step="a", state="completed", attempts=1, result="A"),
        "b": StepFacts(step="b", state="completed", attempts=1, result="B"),
        "each": StepFacts(step="each", state="completed", attempts=2, gathered=True),
    }
    history.rows.fan_outs = {
        "each": FanOutFacts(
            step="each",
            total=2,
            ended=2,
            failed=0,
            attempts=2,
            tolerated=0,
            parallelism=1,
            placed=0,
            closed=True,
        )
    }
    return history


def undone() -> History:
    """Returns a history in which two steps succeed, a third fails, and the two are undone."""
    history = History(GRAPH)
    history.add("execution_started", workflow="graph")
    for step in ("a", "b"):
        history.add("step_enqueued", step, together=True)
    for step in ("a", "b"):
        history.start(step)
        history.succeed(step, step.upper())
    failure = {"class": "invalid", "reason": "template_error", "message": "no list"}
    history.add("step_failed_terminal", "each", together=True, attempts=0, failure=failure)
    history.add("execution_compensating", together=True, failure=failure)
    for step in ("b", "a"):
        history.add("compensation_enqueued", step, together=step == "b")
        history.add("compensation_started", step, attempt=1, **started(1))
        history.add("compensation_completed", step, attempt=1, result=None, decision=PLAIN, attempts=1)
    history.add("execution_compensated", together=True, completed=2, failed=0)
    final = history.add("execution_failed", together=True, failure=failure)
    history.change_row(
        state="failed",
        open_steps=0,
        failure=failure,
        compensation="completed",
        finished_at=final.at,
        has_work=False,
    )
    history.rows.steps = {
        "a": StepFacts(step="a", state="completed", attempts=1, result="A"),
        "b": StepFacts(step="b", state="completed", attempts=1, result="B"),
        "each": StepFacts(step="each", state="failed", failure=failure),
    }
    return history


Break = Callable[[History], None]


def item_of(history: History, **changes: Any) -> None:
    """Changes the row of the work item that waits."""
    history.rows.items = [replace(row, **changes) for row in history.rows.items]
