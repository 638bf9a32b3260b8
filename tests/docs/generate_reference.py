"""Tables about events, states, the language of expressions, the workflow file and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tables import code, codes, table

import tenax
from tenax.errors import TenaxError
from tenax.model.definition import STEP_TYPES
from tenax.model.events import EVENT_TYPES
from tenax.model.outcome import FAILURE_CLASSES
from tenax.model.parse import WORKFLOW_KEYS
from tenax.model.step_keys import DEFAULTS_KEYS, LATER_STEP_KEYS, STEP_KEYS
from tenax.model.step_types import LATER_SPEC_KEYS, LATER_TYPES, SPEC_KEYS
from tenax.policy.check import OUTPUT_VARIABLES, SPEC_VARIABLES, STEP_WHEN_VARIABLES
from tenax.policy.conditions import CONDITION_VARIABLES
from tenax.policy.expressions import DEPTH, NESTING, NODES, TEXT_LENGTH
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
    "execution_paused": ("", ""),
    "execution_resumed": ("", ""),
    "execution_reopened": ("", ""),
    "step_enqueued": ("its needs are met; a work item waits for a worker", ""),
    "step_retry": (
        "it will be tried again",
        "attempt, max_attempts, delay_seconds, available_at, last_error, decision",
    ),
    "step_retry_exhausted": ("the attempts are used up", "attempts, max_attempts, final_error"),
    "step_failed_terminal": ("it has failed for good", "attempts, reason, failure, decision"),
    "step_completed": ("it is done", "attempts; carried_from and result, where it was taken over"),
    "step_skipped": ("its `when` is false", "when"),
    "step_unreachable": ("a step it needs has failed", "cause: that step"),
    "action_started": ("a worker has leased an attempt", "worker, retry: attempt, max_attempts, is_retry"),
    "action_completed": ("the attempt succeeded", "result, seconds, decision; usage, where it was reported"),
    "action_error": ("the attempt failed, or outlived its timeout", "error, failure, worker, seconds"),
    "action_not_completed": ("the handler asks to be run again; counts", "error, failure, worker, seconds"),
    "action_snoozed": ("the handler asks to be run later; does not count", "worker, seconds"),
    "lease_expired": ("the worker sent no heartbeat: it is lost", "error, failure, worker, seconds"),
    "lease_released": ("a worker handed the attempt back; does not count", "worker, reason, detail"),
    "queue_expired": ("not leased within `queue_ttl`; uses an attempt number", "error, failure"),
    "retry_held": ("a control holds the retry back; no control does so in this version", "as `step_retry`"),
    "retry_released": ("", ""),
    "retry_rescheduled": ("an operator asked for the retry now", "available_at, actor"),
    "item_completed": ("", ""),
    "item_failed": ("", ""),
    "item_cancelled": ("the work item ends with its execution", "was, worker"),
    "item_held": ("", ""),
    "late_result": ("a report with an old lease token: recorded, not applied", "status, result or failure"),
    "budget_exceeded": ("", ""),
    "operator_action": ("a person did something", "action, actor, reason"),
    "worker_registered": (
        "a worker said who it is; belongs to no execution",
        "worker, runtimes, queues, slots, ...",
    ),
    "worker_health_changed": ("", ""),
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
    "failure": "`class`, `reason`, `exit_code`, `retry_after`, `exception`",
    "attempt": "the number of the attempt that has just ended",
    "max_attempts": "the policy's limit; None where unlimited",
    "elapsed": "seconds since the first enqueue",
    "cost": "what all attempts have cost, this one included",
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
    # In statements by their key: `worker_lost` is a failure class as well.
    return {
        name for name in EVENT_TYPES
        if f"'type', '{name}'" in text or (f'"{name}"' in text and name not in FAILURE_CLASSES)
    }  # fmt: skip


def _states(what: str) -> str:
    lines = ["```mermaid", "stateDiagram-v2"]
    states = TRANSITIONS[what]
    lines.append(f"    [*] --> {next(iter(states))}")
    for state, following in states.items():
        lines += [f"    {state} --> {after}" for after in following]
    lines += [f"    {state} --> [*]" for state, following in states.items() if not following]
    return "\n".join([*lines, "```"])


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


def template_variables() -> str:
    places = (
        ("a step's own keys (`url`, `command`, `args`, ...)", SPEC_VARIABLES),
        ("`when`", STEP_WHEN_VARIABLES),
        ("`outputs`", OUTPUT_VARIABLES),
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
        *((f"a step of type `{kind}`", codes(SPEC_KEYS[kind])) for kind in STEP_TYPES),
    ]
    return table(("where", "keys"), rows)


def not_yet() -> str:
    rows = [
        ("types of steps", codes(LATER_TYPES)),
        ("keys of a step", codes(LATER_STEP_KEYS)),
        ("keys of an http step", codes(LATER_SPEC_KEYS["http"])),
        ("fields of a policy", codes(["vary"])),
        ("in templates", codes(["item", "index", "steps.NAME.failures"])),
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


BLOCKS = {
    "events": events,
    "reserved-events": reserved_events,
    "states-execution": lambda: _states("execution"),
    "states-step": lambda: _states("step"),
    "states-item": lambda: _states("item"),
    "states-worker": lambda: _states("worker"),
    "state-table": state_table,
    "condition-variables": condition_variables,
    "template-variables": template_variables,
    "expression-filters": expression_filters,
    "expression-tests": expression_tests,
    "expression-limits": expression_limits,
    "file-keys": file_keys,
    "not-yet": not_yet,
    "errors": errors,
}
