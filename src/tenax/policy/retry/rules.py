"""Lists the published names of the rules on which a decision can be based, in the order of their checks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RULES: Mapping[str, str] = MappingProxyType(
    {
        "execution_ended": "the execution is cancelled or finished: stop",
        "step_ended": "the step has failed while items of its fan-out still ran: stop",
        "hold_expired": "it was held for longer than `max_hold`: fail",
        "admission": "the item needs a budget for its next attempt: only `budget` is checked",
        "released": "the server releases it from its hold: only what can have changed since then is checked again, and the decision goes on",
        "until": "it succeeded, but `until` does not hold yet: retry, uncounted; beyond its limit a failure, and goes on",
        "succeeded": "the attempt succeeded: complete",
        "snoozed": "the handler asks to be run later, within `max_snoozes`: retry, uncounted",
        "snooze_limit": "it snoozed more often than `max_snoozes`: counts as a transient failure, and goes on",
        "rules[i]": "the policy's own rule i matches the failure: it gives the effective policy, and goes on",
        "condition_error": "a condition cannot be evaluated: fail",
        "never_retried_class": "class `budget` or `cancelled` is never retried: fail",
        "not_retryable": "`retryable` is false: fail",
        "retries_disabled": "retries are switched off for the whole server: fail",
        "never_on": "`never_on` names the failure: fail",
        "stop_when": "`stop_when` is true: fail",
        "retry_when": "`retry_when` decides instead of the class (not where a worker was lost or missing): false: fail",
        "rule_retry": "the matching rule says `retry: true` or `retry: false`; false: fail",
        "retry_on": "`retry_on` names the failure: go on",
        "class_default": "what the failure's class does by default; not retried: fail",
        "attempts_exhausted": "`max_attempts` counted attempts are used up: fail",
        "rule_attempts_exhausted": "the matching rule's own `max_attempts` are used up: fail",
        "give_up_after": "the retry would start after `give_up_after`: fail",
        "budget": "a budget cannot pay another attempt: fail; or hold, while attempts in flight may give back what is reserved for them",
        "poison": "it has cost `poison_after` different workers their lease (or all there are, as often): hold, in quarantine",
        "hold": "a control of the fleet holds retries back: hold",
        "retry": "nothing stands against it: retry after the delay",
    }
)
