"""Defines the server's decision on an outcome with all of its inputs, and the ledger.

The values are not changed once they are made. They are msgspec structs, which cost a third of a dataclass to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import field

from tenax.model.durations import Seconds

Verdict = Literal["complete", "retry", "hold", "fail", "stop"]
DECIDER_VERSION = 7
"""The version of the decision function. It is raised when the same stored inputs can lead to another decision than before.

7: budgets of tokens and of trees are checked, and attempts in them are charged. With `retryable: false`, a reason names no retries
that are left.
6: an expression that gives an integer beyond 64 bits fails to evaluate.
5: the conditions of a decision have a budget of work, so conditions over large data can fail to evaluate.
4: conditions see `failure.child`, exceptions match by all their names, and `infra_attempts` is 2 by default."""

CONDITION_WORK = 1_000_000
"""Units of work that the conditions of one decision may do, unless a setting changes it. Recorded decisions leave out this value, so
it cannot be changed without a new version."""


class Ledger(msgspec.Struct, omit_defaults=True, gc=False):
    """Counts what a work item has used up so far. It does not hold attempt numbers."""

    counted: int = field(
        default_factory=int
    )  # `default_factory` keeps a 0 in the JSON, since every reader needs this field
    """The number of attempts that count against the limit."""
    exempted: int = field(default_factory=int)
    """The number of attempts lost to infrastructure that `infra_attempts` exempted."""
    by_class: dict[str, int] = field(default_factory=dict)
    by_rule: dict[str, int] = field(default_factory=dict)
    """The number of ended attempts by the index of the rule that matched them ("0", "1", ...)."""
    snoozes: int = 0
    elapsed: Seconds = field(default_factory=float)
    """Seconds since the first enqueue (or since the operator's reset)."""
    previous_delay: Seconds | None = None
    """The last delay of the curve in seconds, before hints. `decorrelated` grows from it."""
    cost: float = 0.0
    budget: float | None = None
    """The most that all attempts of the item may cost together, in USD."""
    highest_cost: float | None = None
    """The highest cost of one attempt. It is charged for attempts that report no cost."""
    polls: int = 0
    """The number of successes for which `until` did not hold yet."""
    lost_by: tuple[str, ...] = ()
    """The different workers that lost their lease on the item, in order."""
    granted: int = 0
    """The number of attempts that operators granted beyond the limit."""
    reopened: int = 0
    """The number of times that an operator started the item again after its end."""
    tokens: int = 0
    budget_tokens: int | None = None
    """The most tokens that all attempts of the item may use together."""
    highest_tokens: int | None = None
    tree: bool = False
    """True if its attempts are charged to the budget of a tree of executions."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the three main counts, and the other fields that differ from their default."""
        return as_builtins(self)

    @classmethod
    def from_dict(cls, body: Mapping[str, Any], **more: Any) -> Ledger:
        return cls(**{**body, "lost_by": tuple(body.get("lost_by", ())), **more})


_decode_ledger = msgspec.json.Decoder(Ledger).decode


def read_ledger(text: str | None, elapsed: float) -> Ledger:
    """Reads a stored ledger, and adds the elapsed time. An item without earlier attempts has no stored ledger."""
    if text is None:
        return Ledger(elapsed=elapsed)
    ledger = _decode_ledger(text)
    ledger.elapsed = elapsed
    return ledger


class Check(msgspec.Struct, gc=False):
    """Records a rule that was checked, whether it decided, and the values that it saw."""

    rule: str
    hit: bool
    saw: dict[str, Any]


class DelayParts(msgspec.Struct, omit_defaults=True, gc=False):
    """Records how a delay was computed, in seconds."""

    delay: Seconds
    source: Literal["curve", "retry_after", "handler", "snooze", "until", "release"]
    backoff: str | None = None
    n: int | None = None
    """The number of counted failures for which the curve was computed."""
    curve: Seconds | None = None
    """The curve's value for n, within the cap, before jitter."""
    jittered: Seconds | None = None
    """The curve's value after jitter. It is the `previous_delay` of the next attempt."""
    cap: Seconds | None = None
    hint: Seconds | None = None
    """The delay that the callee or the handler asked for, before it was capped."""
    hint_cap: Seconds | None = None
    roll: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return as_builtins(self)


class TreeBudget(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """Holds the budget of one tree of executions around an item, as it stood before the attempt that is decided on."""

    execution_id: int
    """The execution at the root of the tree."""
    cost_usd: float | None = None
    """The limit in USD. None if there is none."""
    tokens: int | None = None
    """The limit of tokens. None if there is none."""
    spent_usd: float = 0.0
    spent_tokens: int = 0
    reserved_usd: float = 0.0
    """The amount reserved for attempts of other items."""
    reserved_tokens: int = 0
    in_flight: int = 0
    """The number of other items for whose attempts something may be reserved. They may give it back."""
    highest_usd: float | None = None
    """The highest cost of one attempt of the same step in the tree."""
    highest_tokens: int | None = None


class Controls(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """Holds the inputs of a decision that come from outside the item: switches, holds, and the state of the fleet."""

    execution_open: bool = True
    """False once the execution is cancelled or finished."""
    step_open: bool = True
    """False once the step has failed, while other items of its fan-out still run."""
    retries_enabled: bool = True
    hold: str | None = None
    """Why a retry must be held now. None if it need not."""
    lost_worker: str | None = None
    """The worker that lost its lease, if that ended the attempt."""
    poison_after: int = 0
    """The number of different workers after whose loss the item is quarantined. 0 means never."""
    able: int | None = None
    """The number of workers that are able to run the item, if it is known. If it is smaller than `poison_after`, it is the limit."""
    held_for: Seconds | None = None
    """The seconds for which the item was held, if its hold has expired."""
    released_due_in: Seconds | None = None
    """Set if the server releases the item from its hold: seconds until its retry is due, or 0."""
    condition_work: int = CONDITION_WORK
    """Units of work that the conditions may do together (`tenax.policy.expressions.meter`)."""
    budgets: tuple[TreeBudget, ...] = ()
    """The budgets of the trees that the item belongs to, the outermost first."""
    admits: bool = False
    """True if no attempt has ended: it is decided whether the budgets can pay the item's next attempt."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields that differ from their default. Almost every decision has none."""
        return as_builtins(self)


NO_CONTROLS = Controls()
NO_RETRIES = Controls(retries_enabled=False)


class Decision(msgspec.Struct, omit_defaults=True, gc=False):
    """Says what happens next, and why."""

    verdict: Verdict
    rule: str
    """The rule that gave the verdict: see `tenax.policy.retry.decide.RULES`."""
    reason: str
    """The reason in one sentence."""
    checks: tuple[Check, ...]
    before: Ledger
    after: Ledger
    max_attempts: int | None
    roll: float
    attempt: int
    """The number of the attempt. This and the next four fields are inputs that are kept for replays."""
    execution_id: int
    node_id: str
    elapsed: Seconds
    controls: Controls = NO_CONTROLS
    delay: DelayParts | None = None
    matched_rule: int | None = None
    """Index of the policy's own rule that matched the failure."""
    version: int = field(default_factory=lambda: DECIDER_VERSION)  # always recorded

    @property
    def exhausted(self) -> bool:
        """True if the item failed because its attempts are used up."""
        return self.rule in ("attempts_exhausted", "rule_attempts_exhausted")

    def as_dict(self) -> dict[str, Any]:
        """Returns the decision as its event records it."""
        return as_builtins(self)


def as_builtins(value: msgspec.Struct) -> dict[str, Any]:
    """Returns a struct as a dict, without the fields that have their default."""
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return body
