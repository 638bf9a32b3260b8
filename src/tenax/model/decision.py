"""The server's verdict on an outcome, with everything it saw; and the ledger it is reached from.

Values: nobody changes one. They are msgspec structs, which cost a third of a dataclass to make, and are in no cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import field

Verdict = Literal["complete", "retry", "hold", "fail", "stop"]
DECIDER_VERSION = 6
"""Raised whenever the same stored inputs can lead to another decision than before.

6: an expression that gives an integer beyond 64 bits fails to evaluate.
5: the conditions of a decision have a budget of work, so conditions over large data can fail to evaluate.
4: conditions see `failure.child`, exceptions match by all their names, and `infra_attempts` is 2 by default."""

CONDITION_WORK = 1_000_000
"""Units of work that the conditions of one decision may do, unless a setting says otherwise. A part of every record of a decision
that says nothing else: it cannot be changed without a new version."""


class Ledger(msgspec.Struct, omit_defaults=True, gc=False):
    """What a work item has used up so far. Attempt numbers are elsewhere; these are counts."""

    counted: int = field(
        default_factory=int
    )  # never left out, unlike what is 0 below: everyone reads these three
    """Attempts that count against the limit."""
    exempted: int = field(default_factory=int)
    """Attempts lost to infrastructure that `infra_attempts` forgave."""
    by_class: dict[str, int] = field(default_factory=dict)
    by_rule: dict[str, int] = field(default_factory=dict)
    """Ended attempts by the index of the rule they ended in ("0", "1", ...)."""
    snoozes: int = 0
    elapsed: float = field(default_factory=float)
    """Seconds since the first enqueue (or since the operator's reset)."""
    previous_delay: float | None = None
    """The last delay of the curve, before hints: what `decorrelated` grows from."""
    cost: float = 0.0
    budget: float | None = None
    highest_cost: float | None = None
    """The most that one attempt has cost: charged for those that report nothing."""
    polls: int = 0
    """Successes that `until` found not yet done."""
    lost_by: tuple[str, ...] = ()
    """The different workers that lost their lease over it, in that order."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the counts that everyone reads, and what differs from the start."""
        return as_builtins(self)

    @classmethod
    def from_dict(cls, body: Mapping[str, Any], **more: Any) -> Ledger:
        return cls(**{**body, "lost_by": tuple(body.get("lost_by", ())), **more})


_decode_ledger = msgspec.json.Decoder(Ledger).decode


def read_ledger(text: str | None, elapsed: float) -> Ledger:
    """Reads a stored ledger, with the time that has passed since. An item with nothing behind it has none."""
    if text is None:
        return Ledger(elapsed=elapsed)
    ledger = _decode_ledger(text)
    ledger.elapsed = elapsed
    return ledger


class Check(msgspec.Struct, gc=False):
    """One rule that was looked at, whether it decided, and the values it saw."""

    rule: str
    hit: bool
    saw: dict[str, Any]


class DelayParts(msgspec.Struct, omit_defaults=True, gc=False):
    """How a delay came about. Seconds."""

    delay: float
    source: Literal["curve", "retry_after", "handler", "snooze", "until", "release"]
    backoff: str | None = None
    n: int | None = None
    """The number of counted failures the curve was asked for."""
    curve: float | None = None
    """The curve's value for n, within the cap, before jitter."""
    jittered: float | None = None
    """The curve's value after jitter: the next attempt's `previous_delay`."""
    cap: float | None = None
    hint: float | None = None
    """What the callee (or the handler) asked for, as it was asked."""
    hint_cap: float | None = None
    roll: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return as_builtins(self)


class Controls(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """What the server adds to a decision from outside the item: switches and, later, the fleet's holds."""

    execution_open: bool = True
    """False once the execution is cancelled or finished."""
    step_open: bool = True
    """False once the step has failed, while items of its fan-out still ran."""
    retries_enabled: bool = True
    hold: str | None = None
    """Why a retry must be held back for now."""
    lost_worker: str | None = None
    """The worker that lost its lease, where that is what ended the attempt."""
    poison_after: int = 0
    """So many different workers, and the item is quarantined; 0: never."""
    able: int | None = None
    """How many workers there are for it, where that is known: where they are fewer, it takes all of them."""
    held_for: float | None = None
    """Seconds that it was held, where that has come to its end."""
    released_due_in: float | None = None
    """Set where the server releases it from its hold: seconds until the time at which its retry was due, or 0."""
    condition_work: int = CONDITION_WORK
    """Units of work that its conditions may do together (`tenax.policy.expressions.meter`)."""

    def as_dict(self) -> dict[str, Any]:
        """Returns what differs from the usual: almost every decision is made with none of it."""
        return as_builtins(self)


NO_CONTROLS = Controls()
NO_RETRIES = Controls(retries_enabled=False)


class Decision(msgspec.Struct, omit_defaults=True, gc=False):
    """What happens next, and why."""

    verdict: Verdict
    rule: str
    """The rule that gave the verdict: see `tenax.policy.retry.decide.RULES`."""
    reason: str
    """The same in one plain sentence."""
    checks: tuple[Check, ...]
    before: Ledger
    after: Ledger
    max_attempts: int | None
    roll: float
    attempt: int
    """The number of the attempt that was decided on. Like the next four, an input, kept for replays."""
    execution_id: int
    node_id: str
    elapsed: float
    controls: Controls = NO_CONTROLS
    delay: DelayParts | None = None
    matched_rule: int | None = None
    """Index of the policy's own rule that matched the failure."""
    version: int = field(default_factory=lambda: DECIDER_VERSION)  # always recorded

    @property
    def exhausted(self) -> bool:
        """Whether it failed because the attempts are used up."""
        return self.rule in ("attempts_exhausted", "rule_attempts_exhausted")

    def as_dict(self) -> dict[str, Any]:
        """Returns the decision as its event records it."""
        return as_builtins(self)


def as_builtins(value: msgspec.Struct) -> dict[str, Any]:
    """Returns a struct as it is read from JSON: without what is at its default."""
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return body
