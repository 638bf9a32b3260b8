"""Passes a failed attempt through the rules, in the order of the contract: the first rule that applies decides."""

from __future__ import annotations

from typing import Any

from tenax.model.attempt.outcome import (
    FAILURE_CLASSES,
    INFRASTRUCTURE,
    NEVER_RETRIED,
    RETRIED_BY_DEFAULT,
    Failure,
)
from tenax.model.decision import Check, Decision, DelayParts, Ledger, Verdict
from tenax.model.durations import format_duration
from tenax.policy.expressions.conditions import Condition, condition_scope
from tenax.policy.expressions.meter import Meter
from tenax.policy.expressions.values import EvaluationError
from tenax.policy.retry.attempt_words import only_run, progress, uncounted_progress, used
from tenax.policy.retry.backoff import plan_delay
from tenax.policy.retry.budgets import payments
from tenax.policy.retry.decision_inputs import Case
from tenax.policy.retry.ledger import charge, ledger_after
from tenax.policy.retry.named_failures import names_failure, names_reason
from tenax.policy.retry.poison import is_poison, losses
from tenax.policy.retry.resolve import CompiledRule

NOT_RETRYABLE = "not_retryable"
# The check that nearly every decision passes. It never changes, so it is made once.
OPEN = Check("execution_ended", hit=False, saw={"execution_open": True})
_RETRYABLE = Check("not_retryable", hit=False, saw={"retryable": True})
_ENABLED = Check("retries_disabled", hit=False, saw={"retries_enabled": True})
_BY_CLASS = {
    name: Check("never_retried_class", hit=name in NEVER_RETRIED, saw={"class": name})
    for name in FAILURE_CLASSES
}


class Judgement:
    """Passes one failure through the rules. Each stage returns the decision, or None to continue."""

    __slots__ = ("after", "case", "checks", "failure", "matched", "meter", "parts", "policy", "scope", "why")

    def __init__(self, case: Case, failure: Failure, unmet: Check | None = None) -> None:
        self.case = case
        self.policy = case.policy.policy
        self.failure = failure
        self.checks: list[Check] = [OPEN] if unmet is None else [OPEN, unmet]
        self.matched: CompiledRule | None = None
        self.scope: dict[str, Any] | None = None
        self.meter: Meter | None = None
        """The budget of all its conditions together."""
        self.why = ""
        """The reason for which this failure is to be retried."""
        self.after: Ledger
        self.parts: DelayParts

    # -- the order of the decision

    def decide(self) -> Decision:
        if self.case.controls.held_for is not None:
            return self._held_too_long(self.case.controls.held_for)
        if self.case.controls.admits:
            return self._admitted()
        if self.case.controls.released_due_in is not None:
            return self._released(self.case.controls.released_due_in)
        if self.failure.reason == "snooze_limit":
            saw = {"snoozes": self.case.ledger.snoozes, "max_snoozes": self.policy.max_snoozes}
            self.checks.append(Check("snooze_limit", hit=False, saw=saw))
        broken = self._match_rule()
        self._settle()
        if broken is not None:
            return self._condition_error(*broken)
        return (
            self._never_retried()
            or self._switched_off()
            or self._ruled_out()
            or self._wanted()
            or self._exhausted()
            or self._too_late()
            or self._unpaid()
            or self._held()
            or self._retry()
        )

    def _match_rule(self) -> tuple[str, str] | None:
        """Finds the first rule that matches. Returns the name and the error if a condition fails."""
        failure = self.failure
        for rule in self.case.policy.rules:
            if rule.when is None:
                hit = names_failure(rule.on, failure)
                saw: dict[str, Any] = {"on": list(rule.rule.on), **self._kind()}
            else:
                try:
                    hit = rule.when.holds(self._scope(), self.meter)
                except EvaluationError as error:
                    self.checks.append(
                        Check(rule.name, hit=False, saw={"when": rule.when.text, "error": str(error)})
                    )
                    return f"{rule.name}.when", str(error)
                saw = {"when": rule.when.text, "value": hit}
            self.checks.append(Check(rule.name, hit=hit, saw=saw))
            if hit:
                self.matched = rule
                break
        return None

    def _never_retried(self) -> Decision | None:
        check = _BY_CLASS[self.failure.failure_class]
        self.checks.append(check)
        if not check.hit:
            return None
        return self._fail("never_retried_class", f"{self._what()} is never retried by itself")

    def _switched_off(self) -> Decision | None:
        if not self.policy.retryable:
            self.checks.append(Check("not_retryable", hit=True, saw={"retryable": False}))
            return self._fail(NOT_RETRYABLE, "the policy says retryable: false")
        self.checks.append(_RETRYABLE)
        if not self.case.controls.retries_enabled:
            self.checks.append(Check("retries_disabled", hit=True, saw={"retries_enabled": False}))
            return self._fail("retries_disabled", "retries are switched off for the whole server")
        self.checks.append(_ENABLED)
        return None

    def _ruled_out(self) -> Decision | None:
        failure, compiled = self.failure, self.case.policy
        if compiled.never_on:
            by_reason = names_reason(compiled.never_on, failure)
            by_class = failure.failure_class in compiled.never_on
            hit = by_reason or (by_class and not names_reason(compiled.retry_on, failure))
            saw = {"never_on": list(self.policy.never_on), **self._kind()}
            self.checks.append(Check("never_on", hit=hit, saw=saw))
            if hit:
                return self._fail("never_on", f"never_on names {self._what()}")
        if compiled.stop_when is not None:
            value = self._holds("stop_when", compiled.stop_when, decides=True)
            if not isinstance(value, bool):
                return value
            if value:
                return self._fail("stop_when", f"stop_when is true: {compiled.stop_when.text}")
        return None

    def _wanted(self) -> Decision | None:
        condition = self.case.policy.retry_when
        if condition is None:
            return self._wanted_by_kind()
        if self.failure.failure_class in INFRASTRUCTURE:
            saw = {
                "condition": condition.text,
                "skipped": f"{self.failure.failure_class} is the infrastructure's",
            }
            self.checks.append(Check("retry_when", hit=False, saw=saw))
            return self._wanted_by_kind()
        value = self._holds("retry_when", condition, decides=False)
        if not isinstance(value, bool):
            return value
        self.why = "retry_when is true"
        return None if value else self._fail("retry_when", f"retry_when is false: {condition.text}")

    def _wanted_by_kind(self) -> Decision | None:
        """Decides by the rule's `retry`, else by `retry_on`, else by the class's default."""
        if self.matched is not None and self.matched.rule.retry is not None:
            retry, name = self.matched.rule.retry, self.matched.name
            self.checks.append(Check("rule_retry", hit=not retry, saw={"rule": name, "retry": retry}))
            self.why = f"{name} says retry"
            return None if retry else self._fail("rule_retry", f"{name} says retry: false for {self._what()}")
        failure, names = self.failure, self.case.policy.retry_on
        if names:
            named = names_failure(names, failure)
            saw = {"retry_on": list(self.policy.retry_on), **self._kind(), "named": named}
            self.checks.append(Check("retry_on", hit=False, saw=saw))
            if named:
                self.why = "retry_on names it"
                return None
        retried = failure.failure_class in RETRIED_BY_DEFAULT
        saw = {"class": failure.failure_class, "reason": failure.reason, "retried": retried}
        self.checks.append(Check("class_default", hit=not retried, saw=saw))
        self.why = "its class is retried by default"
        return None if retried else self._fail("class_default", f"{self._what()} is not retried by default")

    def _exhausted(self) -> Decision | None:
        counted, limit = self.after.counted, self.policy.max_attempts
        granted = self.after.granted
        hit = limit is not None and counted >= limit + granted
        saw: dict[str, Any] = {"counted": counted, "max_attempts": limit}
        if granted:
            saw["granted"] = granted
        if self.after.exempted:
            saw["exempted"] = self.after.exempted
        self.checks.append(Check("attempts_exhausted", hit=hit, saw=saw))
        if hit:
            return self._fail("attempts_exhausted", f"{self._what()}: the attempts are used up")
        if self.matched is None or self.matched.rule.max_attempts is None:
            return None
        name, limit = self.matched.name, self.matched.rule.max_attempts
        ended = self.after.by_rule.get(self.matched.key, 0)
        saw = {"rule": name, "ended_in_rule": ended, "max_attempts": limit}
        if granted:
            saw["granted"] = granted
        hit = ended >= limit + granted
        self.checks.append(Check("rule_attempts_exhausted", hit=hit, saw=saw))
        if not hit:
            return None
        why = f"{self._what()}: the attempts of {name} are used up ({ended} of {limit})"
        return self._fail("rule_attempts_exhausted", why)

    def _too_late(self) -> Decision | None:
        self.parts = plan_delay(
            self.policy if self.matched is None else self.matched.delays,
            n=max(self.after.counted, 1),
            previous=self.case.ledger.previous_delay,
            roll=self.case.roll,
            hint=self.failure.evidence.get("retry_after"),
            after=self.case.outcome.after,
        )
        return self._past_the_deadline()

    def _past_the_deadline(self) -> Decision | None:
        limit = self.policy.give_up_after
        if limit is None:
            return None
        delay = self.parts.delay
        hit = self.case.elapsed + delay > limit
        saw = {"elapsed": self.case.elapsed, "delay": delay, "give_up_after": limit}
        self.checks.append(Check("give_up_after", hit=hit, saw=saw))
        if not hit:
            return None
        start = f"{format_duration(self.case.elapsed + delay)} after the first enqueue"
        why = f"the retry would start {start}, later than give_up_after ({format_duration(limit)})"
        return self._fail("give_up_after", why)

    def _unpaid(self) -> Decision | None:
        """Fails if a budget can never pay another attempt, and holds if it can once others give back what is reserved."""
        after, trees, waits = self.after, self.case.controls.budgets, None
        if after.budget is None and after.budget_tokens is None and not trees:
            return None
        for payment in payments(self.policy, self.case.ledger, after, trees):
            self.checks.append(Check("budget", hit=payment.answer != "pay", saw=payment.saw))
            if payment.answer == "never":
                return self._fail("budget", f"the budget cannot pay another attempt ({payment.words})")
            if payment.answer == "wait":
                waits = waits or payment.words
        if waits is None:
            return None
        why = f"it is held until the budget can pay another attempt ({waits})"
        return self._again("hold", "budget", why)

    def _admitted(self) -> Decision:
        """Decides whether the budgets can pay the next attempt of an item. No attempt has ended, so none is counted."""
        self.after, self.parts = self.case.ledger, DelayParts(0.0, "release")
        self.checks.append(Check("admission", hit=False, saw={}))
        self.why = "the budget can pay it"
        return self._unpaid() or self._retry()

    def _held_too_long(self, seconds: float) -> Decision:
        """Decides on an item that was held too long. No attempt has ended: the failure is that of the last one."""
        self.after = self.case.ledger
        self.checks.append(Check("hold_expired", hit=True, saw={"held_for": seconds}))
        return self._fail("hold_expired", f"it was held for {format_duration(seconds)}, the limit (max_hold)")

    def _released(self, due_in: float) -> Decision:
        """Decides again on an item that the server releases from its hold. No attempt has ended, so none is counted.

        It checks again what can have changed since the hold: the server's switch, the time, the budget, other holds.
        """
        self.after, self.parts = self.case.ledger, DelayParts(due_in, "release")
        self.checks.append(Check("released", hit=False, saw={"due_in": due_in}))
        self.why = "it was released from its hold"
        return (
            self._switched_off()
            or self._past_the_deadline()
            or self._unpaid()
            or self._held()
            or self._retry()
        )

    def _held(self) -> Decision | None:
        controls = self.case.controls
        if controls.lost_worker is not None and controls.poison_after:
            lost_by, hit = self.after.lost_by, is_poison(self.after, controls)
            saw = {"lost_by": list(lost_by), "losses": losses(self.after)}
            saw |= {"able": controls.able, "poison_after": controls.poison_after}
            self.checks.append(Check("poison", hit=hit, saw=saw))
            if hit:
                names = ", ".join(lost_by)
                why = f"{self._what()} would be retried ({self.why}), but it has cost {len(lost_by)} workers their lease ({names})"
                return self._again("hold", "poison", f"{why}: it is quarantined")
        hold = controls.hold
        if hold is None:
            return None
        self.checks.append(Check("hold", hit=True, saw={"hold": hold}))
        return self._again(
            "hold", "hold", f"{self._what()} would be retried ({self.why}), but is held: {hold}"
        )

    def _retry(self) -> Decision:
        delay = self.parts.delay
        self.checks.append(Check("retry", hit=True, saw={"delay": delay}))
        return self._again(
            "retry", "retry", f"{self._what()} is retried in {format_duration(delay)} ({self.why})"
        )

    # -- what the stages share

    def _settle(self) -> None:
        rule = self.matched.key if self.matched is not None else None
        self.after = ledger_after(
            self.policy,
            self.case.ledger,
            self.case.outcome,
            elapsed=self.case.elapsed,
            failure_class=self.failure.failure_class,
            rule=rule,
            lost_worker=self.case.controls.lost_worker,
            trees=self.case.controls.budgets,
        )

    def _fail(self, rule: str, why: str) -> Decision:
        is_retryable = rule != NOT_RETRYABLE
        numbers = self._progress() if is_retryable else only_run(self.case.attempt, self.policy.max_attempts)
        return self.case.decision(
            "fail",
            rule,
            f"{why}; {numbers}",
            self.after,
            tuple(self.checks),
            matched=self.matched,
        )

    def _again(self, verdict: Verdict, rule: str, why: str) -> Decision:
        reason = f"{why}; {self._progress()}"
        if self.parts.jittered is not None:
            self.after.previous_delay = self.parts.jittered  # nobody else has this ledger yet
        return self.case.decision(
            verdict, rule, reason, self.after, tuple(self.checks), delay=self.parts, matched=self.matched
        )

    def _condition_error(self, name: str, error: str) -> Decision:
        self.checks.append(Check("condition_error", hit=True, saw={"condition": name, "error": error}))
        return self._fail("condition_error", f"{name} cannot be evaluated ({error}), which means no retry")

    def _holds(self, name: str, condition: Condition, *, decides: bool) -> bool | Decision:
        """Evaluates a condition and records its value. `decides` is the value that ends the evaluation of rules."""
        try:
            value = condition.holds(self._scope(), self.meter)
        except EvaluationError as error:
            self.checks.append(Check(name, hit=False, saw={"condition": condition.text, "error": str(error)}))
            return self._condition_error(name, str(error))
        self.checks.append(
            Check(name, hit=value is decides, saw={"condition": condition.text, "value": value})
        )
        return value

    def _scope(self) -> dict[str, Any]:
        """Builds the scope, only if a condition needs it."""
        if self.scope is None:
            case, failure = self.case, self.failure
            self.meter = Meter(case.controls.condition_work)
            self.scope = condition_scope(
                case.outcome,
                failure,
                attempt=case.attempt,
                max_attempts=self.policy.max_attempts,
                execution_id=case.execution_id,
                step=case.step,
                elapsed=case.elapsed,
                cost=charge(
                    self.policy,
                    case.ledger,
                    case.outcome,
                    failure.failure_class,
                    case.controls.budgets,
                )[0],
            )
        return self.scope

    def _kind(self) -> dict[str, Any]:
        return {"class": self.failure.failure_class, "reason": self.failure.reason}

    def _what(self) -> str:
        return f"{self.failure.failure_class} ({self.failure.reason})"

    def _progress(self) -> str:
        counted, limit, granted = self.after.counted, self.policy.max_attempts, self.after.granted
        if self.after is self.case.ledger:  # no attempt has ended
            return used(counted, limit, granted)
        if self.after.exempted == self.case.ledger.exempted:
            return progress(counted, limit, granted)
        forgiven = f"infra_attempts: {self.after.exempted} of {self.policy.infra_attempts}"
        return f"{uncounted_progress(self.case.attempt, counted, limit, granted)} ({forgiven})"
