"""Reads `podFailurePolicy` of a Job: its first rule that matches a failure decides."""

from __future__ import annotations

from dataclasses import replace

from tenax.dialects.native.policy import INFRASTRUCTURE, exit_reasons
from tenax.dialects.reading.fields import Fields
from tenax.model.policy import Policy, Rule

_ACTIONS = {"FailJob": "fail", "FailIndex": "fail", "Ignore": "ignore", "Count": "count"}
_FORGIVEN = 1_000_000
"""Attempts that are forgiven where Kubernetes forgives without a limit."""


def with_pod_failures(policy: Policy, job: Fields) -> Policy:
    """Returns the policy with the rules of `podFailurePolicy`."""
    if "podFailurePolicy" not in job:
        return policy
    reader = _Reader(policy)
    failures = job.sub("podFailurePolicy")
    for rule in failures.each("rules"):
        reader.read(rule)
    failures.rest()
    return reader.result()


class _Reader:
    """Collects the effects of the rules. The first rule that names an exit code decides on it."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.rules: list[Rule] = []
        self.never: list[str] = []
        self.named: set[str] = set()
        self.ignores = False

    def read(self, rule: Fields) -> None:
        action = rule.one_of("action", _ACTIONS, "Count")
        if rule.text("action") == "FailIndex":
            rule.note(
                "changed", "action", "FailIndex: the item fails, and the others go on as `tolerate` says"
            )
        codes, conditions = rule.sub("onExitCodes"), rule.each("onPodConditions")
        if "onExitCodes" in rule:
            self._codes(codes, action)
        for one in conditions:
            self._condition(one, action)
        if "onExitCodes" not in rule and not conditions:
            rule.note("dropped", None, "names neither exit codes nor conditions of the pod")
        rule.rest()

    def _codes(self, codes: Fields, action: str) -> None:
        values = [int(value) for value in codes.listed("values") if isinstance(value, int)]
        operator = codes.text("operator", "In")
        if "containerName" in codes:
            codes.note("changed", "containerName", "a step has one process: its exit code is meant")
        codes.rest()
        if operator == "NotIn":
            self._other_codes(codes, values, action)
            return
        reasons = [reason for reason in exit_reasons(values) if reason not in self.named]
        if not reasons:
            codes.note("understood", "values", "an earlier rule decides on these exit codes")
            return
        self.named.update(reasons)
        shown = ", ".join(reasons)
        match action:
            case "fail":
                self.never += reasons
                codes.note("understood", "values", f"never_on names {shown}")
            case "ignore":
                self.ignores = True
                self.rules.append(Rule(on=tuple(reasons), retry=True))
                codes.note(
                    "changed", "values", f"a rule for {shown} without a limit: such attempts are forgiven"
                )
            case _:
                self.rules.append(Rule(on=tuple(reasons), retry=True, max_attempts=self.policy.max_attempts))
                codes.note("understood", "values", f"{shown} counts")

    def _other_codes(self, codes: Fields, values: list[int], action: str) -> None:
        """Reads a rule for all exit codes but some. Codes of earlier rules are not among them."""
        signals = [code - 128 for code in values if code > 128]
        words = f"failure.exit_code != None and failure.exit_code not in {sorted(values)}"
        for name in sorted(self.named):
            words += f" and failure.reason != '{name}'"
        words += "".join(f" and failure.reason != 'signal_{signal}'" for signal in signals)
        when = f"{{{{ {words} }}}}"
        if action == "fail":
            self.rules.append(Rule(when=when, retry=False))
        elif action == "ignore":
            self.ignores = True
            self.rules.append(Rule(when=when, retry=True))
        else:
            self.rules.append(Rule(when=when, retry=True, max_attempts=self.policy.max_attempts))
        codes.note("understood", "values", f"a rule when {words}")

    def _condition(self, condition: Fields, action: str) -> None:
        kind = condition.text("type")
        condition.ignore("status")
        condition.rest()
        if kind != "DisruptionTarget":
            condition.note("dropped", "type", f"the condition `{kind}` of a pod has no counterpart")
            return
        if self.named & set(INFRASTRUCTURE):
            return
        self.named.update(INFRASTRUCTURE)
        lost = ", ".join(INFRASTRUCTURE)
        if action == "fail":
            self.never += INFRASTRUCTURE
            condition.note("understood", "type", f"never_on names {lost}")
        elif action == "ignore":
            self.policy = replace(self.policy, infra_attempts=_FORGIVEN)
            condition.note(
                "understood",
                "type",
                f"attempts that end as {lost} are forgiven: infra_attempts: {_FORGIVEN:,}",
            )
        else:
            condition.note("understood", "type", f"{lost} counts")

    def result(self) -> Policy:
        """Returns the policy. Failures that are forgiven count here, so the limit moves into a last rule."""
        policy = replace(self.policy, never_on=tuple(dict.fromkeys(self.never)))
        if not self.ignores:
            return replace(policy, rules=tuple(rule for rule in self.rules if rule.retry is False))
        counted = Rule(
            on=("transient", "timeout", *INFRASTRUCTURE), retry=True, max_attempts=policy.max_attempts
        )
        limited = (policy.max_attempts or 1) + _FORGIVEN
        rules = [rule for rule in self.rules if rule.max_attempts is None]
        return replace(policy, max_attempts=limited, rules=(*rules, counted))
