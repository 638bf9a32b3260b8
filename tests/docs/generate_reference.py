"""Tables about events, states, the language of expressions, the workflow file and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tables import code, codes, table

import tenax
from tenax.errors import TenaxError
from tenax.model.definition import STEP_TYPES, StepType
from tenax.model.events import EVENT_TYPES
from tenax.model.outcome import FAILURE_CLASSES
from tenax.model.parse import WORKFLOW_KEYS
from tenax.model.retry_fields import LATER_RETRY_FIELDS
from tenax.model.step_extras import CONCURRENCY_KEYS, ON_FAILURE_KEYS, UNTIL_KEYS
from tenax.model.step_keys import (
    COMPENSATE_KEYS,
    COMPENSATE_TYPES,
    DEFAULTS_KEYS,
    LATER_STEP_KEYS,
    STEP_KEYS,
    refused_keys,
)
from tenax.model.step_types import LATER_TYPES, SPEC_KEYS
from tenax.policy.conditions import CONDITION_VARIABLES
from tenax.policy.expressions import DEPTH, NESTING, NODES, TEXT_LENGTH
from tenax.policy.laws import LAWS
from tenax.policy.templates import (
    COMPENSATE_VARIABLES,
    FAN_OUT_VARIABLES,
    ONCE_VARIABLES,
    POLLING_VARIABLES,
    SERVER_SPEC_VARIABLES,
    SPEC_VARIABLES,
    UNTIL_VARIABLES,
)
from tenax.policy.transitions import TRANSITIONS
from tenax.policy.values import FILTERS, TESTS, TEXT_LIMIT, Function

_EVENTS: Mapping[str, tuple[str, str]] = {
    "execution_started": ("an execution begins", "workflow, input; retry_of, original_execution, reason"),
    "execution_activated": ("recovery found it without work and repaired it", "reason"),
    "execution_completed": (
        "every step has ended, no goal was lost",
        "result, where the workflow has `outputs`",
    ),
    "execution_failed": ("a goal is lost, or the deadline passed", "failure"),
    "execution_cancelled": ("someone cancelled it", "actor, reason"),
    "execution_paused": ("someone paused it, or its parent: nothing of it starts any more", ""),
    "execution_resumed": ("it goes on", ""),
    "execution_reopened": ("", ""),
    "execution_compensating": (
        "it has failed, and what was done is to be undone; it stays `running` meanwhile",
        "failure",
    ),
    "execution_compensated": ("all compensations are over", "completed, failed: how many"),
    "step_enqueued": (
        "its needs are met; a work item waits for a worker, or one for each element of `for_each`",
        "of a fan-out: items (how many), parallelism",
    ),
    "step_retry": (
        "it will be tried again",
        "attempt, max_attempts, delay_seconds, available_at, last_error, decision",
    ),
    "step_retry_exhausted": (
        "the attempts are used up",
        "attempts (counted), attempt (the number of the last), max_attempts, final_error; where a rule's own limit is reached, attempts and max_attempts are the rule's",
    ),
    "step_failed_terminal": (
        "it has failed for good",
        "attempts (counted), attempt (the number of the last), max_attempts, final_error, reason, failure, decision; on_failure: `continue`, `value` or `step`; of a fan-out items: total, succeeded, failed",
    ),
    "step_completed": (
        "it is done",
        "attempts: the number of the last, of a fan-out those of all items; carried_from and result, where it was taken over; result and on_failure, where a value stands in for it; of a fan-out items: total, succeeded, failed",
    ),
    "step_skipped": ("its `when` is false", "when"),
    "step_unreachable": ("a step it needs has failed", "cause: that step"),
    "action_started": (
        "a worker has leased an attempt, or the server carries it out itself",
        "worker (null: the server), retry: attempt, max_attempts, is_retry; vary: entry, override; child: its execution; waiting: for (`sleep`, `signal`, `approval`, `child`), signal, until, deadline_at",
    ),
    "action_completed": ("the attempt succeeded", "result, seconds, decision; usage, where it was reported"),
    "action_error": ("the attempt failed, or outlived its timeout", "error, failure, worker, seconds"),
    "action_not_completed": ("the handler asks to be run again; counts", "error, failure, worker, seconds"),
    "action_snoozed": (
        "the handler asks to be run later; does not count. Past `max_snoozes` it is an `action_error`, reason `snooze_limit`",
        "worker, seconds",
    ),
    "action_polled": (
        "it succeeded, but `until` does not hold yet; does not count",
        "result, polls, seconds",
    ),
    "action_accepted": ("the callee of an async step took it on, and will call back", "deadline_at, result"),
    "lease_expired": (
        "the worker sent no heartbeat, or its process has died: it is lost",
        "error, failure, worker, seconds",
    ),
    "lease_released": (
        "a worker handed the attempt back; does not count",
        "worker, reason, detail; compensation: it was of one",
    ),
    "queue_expired": ("not leased within `queue_ttl`; uses an attempt number", "error, failure"),
    "retry_held": ("a control holds the retry back: it is [poison](fleet.md#poison)", "as `step_retry`"),
    "retry_released": (
        "an operator released it from its hold, or the server did (`tenax:server`): then it is decided on again, and `step_retry` follows",
        "actor, reason; compensation: it was of one",
    ),
    "retry_rescheduled": ("an operator asked for the retry now", "available_at, actor"),
    "item_completed": ("an item of a fan-out is done", "attempts"),
    "item_failed": (
        "an item of a fan-out has failed for good",
        "as `step_failed_terminal`; tolerated: the step goes on all the same",
    ),
    "item_cancelled": (
        "the work item ends with its execution, or with its step; those of a fan-out that never had their turn in one event",
        "was, worker; count, items: ranges of those that never had their turn",
    ),
    "item_held": ("recovery found its work item missing, and put it back as it was: held", ""),
    "late_result": (
        "a report with an old lease token, another report under a token that was reported on already (10 for each at most), or a callback that no longer counts: recorded, not applied",
        "status, result or failure; via: `callback`; compensation: it was of one",
    ),
    "signal_received": (
        "a signal came, for a step that waits for it or for one that will",
        "name, data, actor, key",
    ),
    "compensation_enqueued": ("what undoes an item waits for a worker", ""),
    "compensation_started": ("a worker has leased an attempt at it", "as `action_started`"),
    "compensation_error": (
        "the attempt failed",
        "as `action_error`; how: `lease_expired`, `queue_expired`, `action_not_completed`, `action_snoozed`",
    ),
    "compensation_retry": ("it will be tried again", "as `step_retry`; held"),
    "compensation_completed": ("it is undone", "result, attempts"),
    "compensation_failed": ("it could not be undone", "as `step_failed_terminal`"),
    "compensation_cancelled": ("the execution was cancelled meanwhile", "as `item_cancelled`"),
    "budget_exceeded": ("", ""),
    "operator_action": (
        "a person did something: cancel, retry, pause, resume, approve, reject; or, belonging to no execution, worker_pause, worker_drain, worker_resume (by `tenax:server`: the server took its own drain back), queue_limit",
        "action, actor, reason; because_of: the execution it was done to, where this one went along; worker; queue, concurrency, rate, burst",
    ),
    "worker_registered": (
        "a worker said who it is; belongs to no execution",
        "worker, runtimes, queues, slots, ...",
    ),
    "worker_health_changed": (
        "the server judges a [worker's health](fleet.md#health) otherwise than before; belongs to no execution",
        "worker, from, to, column (null: healthy), value, threshold, floored, columns: the value of each; probe_at",
    ),
    "worker_drained": (
        "the server drained a worker that was lost again and again; belongs to no execution",
        "worker, reason, losses",
    ),
    "worker_lost": (
        "a worker was silent for three leases; belongs to no execution",
        "worker, last_heartbeat",
    ),
}
_VARIABLES: Mapping[str, str] = {
    "status_code": "of the HTTP answer; None where there was none",
    "error": "the failure's message",
    "success": "always false: conditions are asked about failures only",
    "result": "what the failed attempt gave along: the answer's body, a handler's `data`",
    "data": "the same; of a mapping with a key `data`, that key",
    "failure": "`class`, `reason`, `exit_code`, `retry_after`, `exception`, `child` (of a failed child execution: `execution_id`, `class`, `reason`, `message`, `step`, `attempts`, and its own `child`)",
    "attempt": "the number of the attempt that has just ended",
    "max_attempts": "the policy's limit; None where unlimited",
    "elapsed": "seconds since the first enqueue",
    "cost": "what all attempts have cost, this one included",
    "execution_id": "the execution's number",
    "node_id": "the step's name",
}
_UNTIL: Mapping[str, str] = {
    "result": "what the attempt gave",
    "data": "the same; of a mapping with a key `data` (an http step's result), that key",
    "status_code": "of an http step's answer; None elsewhere",
    "attempt": "the number of the attempt that has just ended",
    "polls": "how often it was found not yet done before",
    "elapsed": "seconds since the first enqueue",
    "execution_id": "the execution's number",
    "node_id": "the step's name",
}


def events() -> str:
    """What this version writes, and what it has reserved."""
    assert set(EVENT_TYPES) == set(_EVENTS), "an event has no description"
    return table(
        ("event", "when", "data"),
        [(code(name), *_EVENTS[name]) for name in EVENT_TYPES if name in _written()],
    )


def reserved_events() -> str:
    return codes(name for name in EVENT_TYPES if name not in _written())


def _written() -> set[str]:
    """The events that the engine, or a statement of the store, names."""
    package = Path(tenax.__file__).parent
    sources = [*(package / "engine").glob("*.py"), *(package / "sql/queries").glob("*.sql")]
    text = "\n".join(source.read_text("utf-8") for source in sources)
    # By their quotes. Of what is a failure class as well (`worker_lost`), only the key of a statement tells.
    return {
        name for name in EVENT_TYPES
        if f"'type', '{name}'" in text
        or (name not in FAILURE_CLASSES and (f'"{name}"' in text or f"'{name}'" in text))
    }  # fmt: skip


def _states(what: str) -> str:
    lines = ["```mermaid", "stateDiagram-v2"]
    states = TRANSITIONS[what]
    lines.append(f"    [*] --> {next(iter(states))}")
    for state, following in states.items():
        lines += [f"    {state} --> {after}" for after in following]
    lines += [f"    {state} --> [*]" for state, following in states.items() if not following]
    return "\n".join([*lines, "```"])


_IN_A_COMPENSATION = {
    "waiting": "pending",
    "leased": "running",
    "accepted": "running",
    "succeeded": "completed",
}


def compensation_states() -> str:
    """Those of its work item, in the words of steps; what has failed stays so."""
    known = {state: _IN_A_COMPENSATION.get(state, state) for state in TRANSITIONS["item"]}
    edges = dict.fromkeys(
        (known[before], known[after])
        for before, following in TRANSITIONS["item"].items()
        for after in following
        if before != "failed" and known[before] != known[after]
    )
    ends = [name for name in dict.fromkeys(known.values()) if name not in {before for before, _ in edges}]
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    lines += [f"    {before} --> {after}" for before, after in edges]
    return "\n".join([*lines, *(f"    {name} --> [*]" for name in ends), "```"])


def state_table() -> str:
    rows = [
        (what, code(state), codes(following, none="the end"))
        for what, states in TRANSITIONS.items()
        for state, following in states.items()
    ]
    return table(("what", "state", "may become"), rows)


def condition_variables() -> str:
    assert set(_VARIABLES) == CONDITION_VARIABLES, "a variable has no description"
    return table(("variable", "value"), [(code(name), words) for name, words in _VARIABLES.items()])


def until_variables() -> str:
    assert set(_UNTIL) == UNTIL_VARIABLES, "a variable has no description"
    return table(("variable", "value"), [(code(name), words) for name, words in _UNTIL.items()])


def template_variables() -> str:
    places = (
        ("the keys of a python, http or process step (`args`, `url`, ...)", SPEC_VARIABLES),
        ("those of a sleep, wait or workflow step", SERVER_SPEC_VARIABLES),
        ("`compensate`", COMPENSATE_VARIABLES),
        ("`concurrency.key`", ONCE_VARIABLES),
        ("in all of these, where the step has `for_each`, also", FAN_OUT_VARIABLES),
        ("in the keys of a step with `until`, also", POLLING_VARIABLES),
        ("`when`, `for_each`, `on_failure.value`, `outputs`", ONCE_VARIABLES),
    )
    return table(("where", "variables"), [(where, codes(sorted(names))) for where, names in places])


def expression_filters() -> str:
    return codes(_shown(FILTERS))


def expression_tests() -> str:
    return codes(_shown(TESTS))


def _shown(functions: Mapping[str, Function]) -> Iterator[str]:
    for name, function in functions.items():
        yield f"{name}({', '.join(function.parameters)})" if function.parameters else name


def expression_limits() -> str:
    return table(
        ("limit", "value"),
        [
            ("characters of one expression", f"{TEXT_LENGTH:,}"),
            ("brackets within brackets", NESTING),
            ("depth of the parsed expression", DEPTH),
            ("parts (nodes) of one expression", f"{NODES:,}"),
            ("characters of a text or value that an expression makes", f"{TEXT_LIMIT:,}"),
        ],
    )


def file_keys() -> str:
    rows = [
        ("the top of the file", codes(WORKFLOW_KEYS)),
        ("`defaults`", codes(DEFAULTS_KEYS)),
        ("every step", codes(STEP_KEYS)),
        *((f"a step of type `{kind}`", _keys_of_type(kind)) for kind in STEP_TYPES),
        ("`concurrency`", codes(CONCURRENCY_KEYS)),
        ("`until`", codes(UNTIL_KEYS)),
        ("`on_failure`", codes(ON_FAILURE_KEYS)),
        ("`compensate`", f"{codes(COMPENSATE_KEYS)}; and the keys of its type: {codes(COMPENSATE_TYPES)}"),
    ]
    return table(("where", "keys"), rows)


def _keys_of_type(kind: StepType) -> str:
    refused = refused_keys(kind)
    return codes(SPEC_KEYS[kind]) + (f"; not {codes(refused)}" if refused else "")


def not_yet() -> str:
    rows = [
        ("types of steps", codes(LATER_TYPES)),
        ("keys of a step", codes(LATER_STEP_KEYS)),
        ("fields of a policy", codes(LATER_RETRY_FIELDS)),
    ]
    return table(("what", 'refused with "is not supported by this version yet"'), rows)


def errors() -> str:
    rows = [
        (code(f"tenax:{kind.code}"), kind.http_status, kind.exit_code, (kind.__doc__ or "").splitlines()[0])
        for kind in _tree(TenaxError)
        if kind.__module__ == "tenax.errors" and kind is not TenaxError
    ]
    return table(("type", "HTTP status", "exit code", "meaning"), rows)


def _tree(kind: type[TenaxError]) -> Iterator[type[TenaxError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def laws() -> str:
    return table(("law", ""), [(code(law.name), law.sentence) for law in LAWS.values()])


BLOCKS = {
    "laws": laws,
    "events": events,
    "reserved-events": reserved_events,
    "states-execution": lambda: _states("execution"),
    "states-step": lambda: _states("step"),
    "states-item": lambda: _states("item"),
    "states-compensation": compensation_states,
    "states-worker": lambda: _states("worker"),
    "state-table": state_table,
    "condition-variables": condition_variables,
    "template-variables": template_variables,
    "until-variables": until_variables,
    "expression-filters": expression_filters,
    "expression-tests": expression_tests,
    "expression-limits": expression_limits,
    "file-keys": file_keys,
    "not-yet": not_yet,
    "errors": errors,
}
