"""Defines the execution that a test looks at, and the assertions on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from msgspec import to_builtins

from tenax.engine.engine import Engine
from tenax.model.execution_views import Attempt, Event, Execution, Work
from tenax.model.execution_views import Step as StepView
from tenax.model.views import Explanation
from tenax.testing.failure_texts import event_list, event_words, story
from tenax.testing.loop_thread import LoopThread
from tenax.testing.submissions import result_of

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

R = TypeVar("R")

_MILLISECOND = 0.001


class ExpectedStatus:
    """Is a status to compare an execution with: `assert execution == completed`."""

    def __init__(self, status: str) -> None:
        self.status = status

    def __repr__(self) -> str:
        return self.status


completed = ExpectedStatus("completed")
failed = ExpectedStatus("failed")
cancelled = ExpectedStatus("cancelled")


def explain_comparison(left: object, right: object) -> list[str] | None:
    """Returns the lines that pytest prints if an execution has not ended as a test expects."""
    if isinstance(left, ExpectedStatus):
        left, right = right, left
    if not (isinstance(left, ExecutionResult) and isinstance(right, ExpectedStatus)):
        return None
    return [f"execution {left.id} is {left.status}, and not {right.status}"]


class ExecutionResult(Generic[R]):
    """Is an execution as a test sees it at one time: its state, its events, and why they came about.

    Events and explanations are read when they are first used, from the database of the test.
    """

    def __init__(self, view: Execution, engine: Engine, loop: LoopThread, what: Any = None) -> None:
        """`what` is what the test ran."""
        self.view = view
        """All that `tenax show --json` prints."""
        self.told = False
        """True if a failed assertion has told the story."""
        self.what = what
        self._engine = engine
        self._loop = loop

    @property
    def id(self) -> int:
        return self.view.id

    @property
    def status(self) -> str:
        return self.view.status

    @property
    def result(self) -> R:
        """The result. Raises AssertionError, with what happened, unless the execution is completed."""
        if self.status != "completed":
            self._fail(f"execution {self.id} is {self.status}, so it has no result")
        result: R = result_of(self.what, self.view)
        return result

    @property
    def failure(self) -> Mapping[str, Any] | None:
        """The failure with `class`, `reason`, `message` and `step`, if it has failed."""
        return self.view.failure

    @property
    def steps(self) -> Mapping[str, StepView]:
        return self.view.steps

    @cached_property
    def events(self) -> Sequence[Event]:
        return self._loop.call(self._engine.events(self.id))

    @cached_property
    def decisions(self) -> Sequence[Explanation]:
        """The decisions on its attempts, each with the rule that gave it and a text."""
        return self._loop.call(self._engine.explain(self.id))

    @property
    def explanation(self) -> str:
        """The explanation of the last decision, or an empty text if nothing was decided."""
        return self.decisions[-1].text if self.decisions else ""

    def attempts(self, step: str | None = None, *, item: int | None = None) -> Sequence[Attempt]:
        """Returns the attempts of a step, or of one item of its fan-out. An execution with a single step needs no name."""
        return self._work(step, item).attempts

    def delays(self, step: str | None = None, *, item: int | None = None) -> list[float]:
        """Returns the seconds that the retries of a step were delayed by."""
        return [one.delay_seconds for one in self.attempts(step, item=item) if one.delay_seconds is not None]

    @property
    def story(self) -> str:
        """The timeline, the failure and the last decision, as a failed assertion prints them."""
        return story(to_builtins(self.view), self.decisions)

    def assert_completed(self) -> None:
        self._assert_status("completed")

    def assert_failed(self, *, reason: str | None = None, failure_class: str | None = None) -> None:
        """Checks that it has failed, for this reason and with this class if they are given."""
        self._assert_status("failed")
        failure = self.failure or {}
        for what, key, wanted in (("reason", "reason", reason), ("class", "class", failure_class)):
            if wanted is not None and failure.get(key) != wanted:
                self._fail(
                    f"execution {self.id} failed with the {what} {failure.get(key)!r}, and not {wanted!r}"
                )

    def assert_attempts(self, step: str, count: int, *, item: int | None = None) -> None:
        """Checks the number of attempts of a step, or of one item of its fan-out."""
        found = len(self.attempts(step, item=item))
        if found != count:
            self._fail(f"{_named(step, item)} had {_times(found, 'attempt')}, and not {count}")

    def assert_delays(self, step: str, seconds: Sequence[float], *, item: int | None = None) -> None:
        """Checks the delays before the retries of a step, to the millisecond."""
        found = self.delays(step, item=item)
        if len(found) != len(seconds) or any(
            abs(one - other) > _MILLISECOND for one, other in zip(found, seconds, strict=True)
        ):
            self._fail(
                f"the retries of {_named(step, item)} were delayed by {found} s, and not {list(seconds)}"
            )

    def assert_events(self, *types: str, step: str | None = None) -> None:
        """Checks that events of these types came in this order. Others may have come between them."""
        left = list(types)
        events = [event for event in self.events if step is None or event.step == step]
        for event in events:
            if left and event.type == left[0]:
                del left[0]
        if left:
            found = types[: len(types) - len(left)]
            after = f" after {', '.join(found)}" if found else ""
            self._fail(f"there is no event {left[0]}{after}. The events:\n{event_list(events)}")

    def assert_no_events(self, *types: str, step: str | None = None) -> None:
        """Checks that no event of these types came."""
        for event in self.events:
            if event.type in types and (step is None or event.step == step):
                self._fail(f"there is an event {event_words(event)}. The events:\n{event_list(self.events)}")

    def __eq__(self, other: object) -> bool:
        return self.status == other.status if isinstance(other, ExpectedStatus) else self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<execution {self.id} of {self.view.workflow}: {self.status}>"

    def _assert_status(self, status: str) -> None:
        if self.status != status:
            self._fail(f"execution {self.id} is {self.status}, and not {status}")

    def _work(self, step: str | None, item: int | None) -> Work:
        if step is None:
            if len(self.steps) != 1:
                raise ValueError(f"which step? This execution has {', '.join(self.steps)}")
            [step] = self.steps
        if step not in self.steps:
            raise ValueError(f"this execution has no step {step!r}, but {', '.join(self.steps)}")
        if item is None:
            return self.steps[step]
        works = self._loop.call(self._engine.item_works(self.id, step, [item]))
        if item not in works:
            raise ValueError(f"the fan-out of {step} has no item {item}")
        return works[item]

    def _fail(self, message: str) -> None:
        self.told = True
        raise AssertionError(f"{message}\n\n{self.story}")


def _named(step: str, item: int | None) -> str:
    return step if item is None else f"{step}[{item}]"


def _times(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
