"""Caches values, the least recently used first to go, and bounds their weight. The sizes of definitions differ by a factor of ten thousand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

from tenax.model.definition.workflow import Step
from tenax.model.json_text import encode
from tenax.policy.plan import Plan

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BYTES_OF_PLAN = 5_000  # bytes that a plan takes in memory beside its steps
BYTES_OF_STEP = 6_000
"""Bytes that a plan takes in memory for each step, measured on steps of a few lines."""
BYTES_OF_VALUE = 4
"""Bytes that a value takes in memory for each character of its JSON."""


class WeightedCache(Generic[K, V]):
    """Keeps values up to a total weight, which is an estimate in bytes.

    The value that was unused for longest is dropped first. The value that was added last stays whatever its weight. Otherwise work on a
    large value would read it again each time.
    """

    def __init__(self, most: int, weigh: Callable[[V], int]) -> None:
        self._most = most
        self._weigh = weigh
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.weight = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def peek(self, key: K) -> V | None:
        """Returns a value if it is kept. This does not count as a use, which would cost too much on the hot path."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def use(self, key: K) -> V | None:
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: K, value: V) -> Iterator[V]:
        """Keeps a value. Returns the values that were dropped to make room."""
        self._forget(key)
        weight = self._weigh(value)
        self._kept[key] = (value, weight)
        self.weight += weight
        gone = []
        while self.weight > self._most and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            gone.append(self._kept[oldest][0])
            self._forget(oldest)
        return iter(gone)

    def _forget(self, key: K) -> None:
        if key in self._kept:
            self.weight -= self._kept.pop(key)[1]


def _texts_of(step: Step) -> tuple[Any, ...]:
    """Returns the parts of a step that may be as large as its author likes."""
    return step.spec, step.when, step.for_each, step.retry, step.on_failure, step.labels


def weight_of_plan(plan: Plan) -> int:
    """Returns about how many bytes a plan takes in memory."""
    actions, workflow = plan.actions.values(), plan.workflow
    declared = [(one.schema, one.default) for one in workflow.inputs.values()]
    values = len(encode((declared, workflow.outputs, workflow.description)))
    values += sum(len(encode(_texts_of(action.step))) for action in actions)
    return BYTES_OF_PLAN + BYTES_OF_STEP * len(actions) + BYTES_OF_VALUE * values
