"""The server's verdict on an outcome, with everything it saw; and the ledger it is reached from.

Values: nobody changes one. Most are not frozen, since that would triple the cost of making one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["complete", "retry", "hold", "fail", "stop"]
DECIDER_VERSION = 4
"""Raised whenever the same stored inputs can lead to another decision than before.

4: conditions see `failure.child`, exceptions match by all their names, and `infra_attempts` is 2 by default."""


@dataclass(slots=True)
class Ledger:
    """What a work item has used up so far. Attempt numbers are elsewhere; these are counts."""

    counted: int = 0
    """Attempts that count against the limit."""
    exempted: int = 0
    """Attempts lost to infrastructure that `infra_attempts` forgave."""
    by_class: dict[str, int] = field(default_factory=dict)
    by_rule: dict[str, int] = field(default_factory=dict)
    """Ended attempts by the index of the rule they ended in ("0", "1", ...)."""
    snoozes: int = 0
    elapsed: float = 0.0
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
        """The counts that everyone reads, and what differs from the start: most items have little behind them."""
        body: dict[str, Any] = {"counted": self.counted, "exempted": self.exempted, "elapsed": self.elapsed}
        if self.by_class:
            body["by_class"] = self.by_class
        if self.by_rule:
            body["by_rule"] = self.by_rule
        if self.snoozes:
            body["snoozes"] = self.snoozes
        if self.previous_delay is not None:
            body["previous_delay"] = self.previous_delay
        if self.cost:
            body["cost"] = self.cost
        if self.budget is not None:
            body["budget"] = self.budget
        if self.highest_cost is not None:
            body["highest_cost"] = self.highest_cost
        if self.polls:
            body["polls"] = self.polls
        if self.lost_by:
            body["lost_by"] = list(self.lost_by)
        return body

    @classmethod
    def from_dict(cls, body: Mapping[str, Any], **more: Any) -> Ledger:
        return cls(**{**body, "lost_by": tuple(body.get("lost_by", ())), **more})


@dataclass(slots=True)
class Check:
    """One rule that was looked at, whether it decided, and the values it saw."""

    rule: str
    hit: bool
    saw: dict[str, Any]


@dataclass(slots=True)
class DelayParts:
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
        """Written out: a loop over the names takes several times as long."""
        body: dict[str, Any] = {"delay": self.delay, "source": self.source}
        if self.backoff is not None:
            body["backoff"] = self.backoff
        if self.n is not None:
            body["n"] = self.n
        if self.curve is not None:
            body["curve"] = self.curve
        if self.jittered is not None:
            body["jittered"] = self.jittered
        if self.cap is not None:
            body["cap"] = self.cap
        if self.hint is not None:
            body["hint"] = self.hint
        if self.hint_cap is not None:
            body["hint_cap"] = self.hint_cap
        if self.roll is not None:
            body["roll"] = self.roll
        return body


@dataclass(frozen=True, slots=True)
class Controls:
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

    def as_dict(self) -> dict[str, Any]:
        """Only what differs from the usual: almost every decision is made with none of it."""
        body: dict[str, Any] = {}
        if not self.execution_open:
            body["execution_open"] = False
        if not self.step_open:
            body["step_open"] = False
        if not self.retries_enabled:
            body["retries_enabled"] = False
        if self.hold is not None:
            body["hold"] = self.hold
        if self.lost_worker is not None:
            body |= {"lost_worker": self.lost_worker, "poison_after": self.poison_after, "able": self.able}
        if self.held_for is not None:
            body["held_for"] = self.held_for
        if self.released_due_in is not None:
            body["released_due_in"] = self.released_due_in
        return body


NO_CONTROLS = Controls()
NO_RETRIES = Controls(retries_enabled=False)


@dataclass(slots=True)
class Decision:
    """What happens next, and why."""

    verdict: Verdict
    rule: str
    """The rule that gave the verdict: see `tenax.policy.decide.RULES`."""
    reason: str
    """The same in one plain sentence."""
    checks: tuple[Check, ...]
    before: Ledger
    after: Ledger
    max_attempts: int | None
    delay: DelayParts | None = None
    matched_rule: int | None = None
    """Index of the policy's own rule that matched the failure."""
    exhausted: bool = False
    """Failed because the attempts are used up."""
    roll: float = 0.0
    attempt: int = 1
    """The number of the attempt that was decided on. Like the next four, an input, kept for replays."""
    execution_id: int = 0
    node_id: str = ""
    elapsed: float = 0.0
    controls: Controls = NO_CONTROLS
    version: int = DECIDER_VERSION

    def as_dict(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "verdict": self.verdict,
            "rule": self.rule,
            "reason": self.reason,
            "checks": [{"rule": check.rule, "hit": check.hit, "saw": check.saw} for check in self.checks],
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "max_attempts": self.max_attempts,
            "roll": self.roll,
            "attempt": self.attempt,
            "execution_id": self.execution_id,
            "node_id": self.node_id,
            "elapsed": self.elapsed,
            "version": self.version,
        }
        if self.delay is not None:
            body["delay"] = self.delay.as_dict()
        if self.matched_rule is not None:
            body["matched_rule"] = self.matched_rule
        if self.controls is not NO_CONTROLS and (controls := self.controls.as_dict()):
            body["controls"] = controls
        return body
