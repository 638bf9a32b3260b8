"""Makes tables about states, the language of expressions, the workflow file and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from generators.tables import code, codes, table
from tenax.errors import InvalidValue, TaskFailed, TenaxError
from tenax.model.definition.types import STEP_TYPES, StepType
from tenax.model.filters.fields import FIELDS, LETTER_FIELDS, OF_EXECUTION, Field
from tenax.model.parse.action_file import ActionFile, PackFile
from tenax.model.parse.keys.schedule_keys import ScheduleKeys
from tenax.model.parse.keys.step_keys import ConcurrencyKeys, OnFailureKeys, UntilKeys
from tenax.model.parse.keys.step_types import LATER_TYPES, OWN_KEYS, SPEC_KEYS
from tenax.model.parse.shape import Shape
from tenax.model.parse.workflow_file import (
    COMPENSATE_KEYS,
    COMPENSATE_TYPES,
    DEFAULTS_KEYS,
    STEP_KEYS,
    WORKFLOW_KEYS,
    WorkerStep,
    refused_keys,
)
from tenax.policy.expressions.compiler import DEPTH, NESTING, NODES, TEXT_LENGTH
from tenax.policy.expressions.conditions import CONDITION_VARIABLES
from tenax.policy.expressions.templates import (
    COMPENSATE_VARIABLES,
    FAN_OUT_VARIABLES,
    ONCE_VARIABLES,
    POLLING_VARIABLES,
    SERVER_SPEC_VARIABLES,
    SPEC_VARIABLES,
    UNTIL_VARIABLES,
)
from tenax.policy.expressions.values import FILTERS, TESTS, TEXT_LIMIT, Function
from tenax.policy.laws import LAWS
from tenax.policy.transitions import TRANSITIONS

_VARIABLES: Mapping[str, str] = {
    "status_code": "the status of the HTTP answer; None if there was no answer",
    "error": "the failure's message",
    "success": "always false, because conditions are evaluated for failures only",
    "result": "what the failed attempt returned: the body of the answer, or the `data` of a handler",
    "data": "the same as `result`; if `result` is a mapping with a key `data`, the value of that key",
    "failure": "`class`, `reason`, `exit_code`, `retry_after`, `exception`, `child` (of a failed child execution: `execution_id`, `class`, `reason`, `message`, `step`, `attempts`, and its own `child`)",
    "attempt": "the number of the attempt that has just ended",
    "max_attempts": "the policy's limit; None if it is unlimited",
    "elapsed": "seconds since the first enqueue",
    "cost": "the cost of all attempts, this one included",
    "execution_id": "the execution's number",
    "node_id": "the step's name",
}
_UNTIL: Mapping[str, str] = {
    "result": "the result of the attempt",
    "data": "the same as `result`; if `result` is a mapping with a key `data` (as in an http step), the value of that key",
    "status_code": "the status of an http step's answer; None in other steps",
    "attempt": "the number of the attempt that has just ended",
    "polls": "how often the condition was false before",
    "elapsed": "seconds since the first enqueue",
    "execution_id": "the execution's number",
    "node_id": "the step's name",
}


def state_edges(what: str) -> list[tuple[str, str]]:
    """Returns which states may follow each state, in the order of the table."""
    return [(before, after) for before, following in TRANSITIONS[what].items() for after in following]


_IN_A_COMPENSATION = {
    "waiting": "pending",
    "leased": "running",
    "accepted": "running",
    "succeeded": "completed",
}


def compensation_edges() -> list[tuple[str, str]]:
    """Returns the transitions of a compensation: those of its work item, in the words of steps."""
    known = {state: _IN_A_COMPENSATION.get(state, state) for state in TRANSITIONS["item"]}
    edges = dict.fromkeys(
        (known[before], known[after])
        for before, following in TRANSITIONS["item"].items()
        for after in following
        if before != "failed" and known[before] != known[after]
    )
    return list(edges)


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
        ("the keys of a python, http, process or action step (`args`, `url`, ...)", SPEC_VARIABLES),
        ("the keys of a sleep, wait or workflow step", SERVER_SPEC_VARIABLES),
        ("`compensate`", COMPENSATE_VARIABLES),
        ("`concurrency.key`", ONCE_VARIABLES),
        ("also in all of these, if the step has `for_each`", FAN_OUT_VARIABLES),
        ("also in the keys of a step with `until`", POLLING_VARIABLES),
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
        ("`concurrency`", codes(ConcurrencyKeys.key_names())),
        ("`schedule`", codes(ScheduleKeys.key_names())),
        ("`until`", codes(UntilKeys.key_names())),
        ("`on_failure`", codes(OnFailureKeys.key_names())),
        ("`compensate`", f"{codes(COMPENSATE_KEYS)}; and the keys of its type: {codes(COMPENSATE_TYPES)}"),
    ]
    return table(("where", "keys"), rows)


def _keys_of_type(kind: StepType) -> str:
    refused = refused_keys(kind)
    return codes(SPEC_KEYS[kind]) + (f"; not {codes(refused)}" if refused else "")


def keys_of(shape: type[Shape]) -> str:
    """Returns the keys of one mapping of the file, with the descriptions of their declaration."""
    rows = []
    for name, field in shape.model_fields.items():
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        default = extra.get("default", field.default)
        rows.append((code(field.alias or name), _default(default, field.is_required()), field.description))
    return table(("key", "default", "meaning"), rows)


def _default(value: object, required: bool) -> str:
    if required:
        return "required"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value in (None, [], {}, "") else code(value)


def not_yet() -> str:
    rows = [
        ("types of steps", codes(LATER_TYPES)),
    ]
    return table(("what", 'refused with "is not supported by this version yet"'), rows)


_IN_PYTHON = (InvalidValue, TaskFailed)
"""Errors that no answer of the server has."""


def errors() -> str:
    rows = [
        (code(f"tenax:{kind.code}"), kind.http_status, kind.exit_code, (kind.__doc__ or "").splitlines()[0])
        for kind in _tree(TenaxError)
        if kind.__module__ == "tenax.errors" and kind not in (TenaxError, *_IN_PYTHON)
    ]
    return table(("type", "HTTP status", "exit code", "meaning"), rows)


def _tree(kind: type[TenaxError]) -> Iterator[type[TenaxError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def laws() -> str:
    return table(("law", ""), [(code(law.name), law.sentence) for law in LAWS.values()])


def filter_fields() -> str:
    return _fields_table(list(FIELDS.values()))


def letter_filter_fields() -> str:
    return _fields_table([field for name, field in LETTER_FIELDS.items() if name not in OF_EXECUTION])


def _fields_table(fields: list[Field]) -> str:
    rows = []
    for field in fields:
        takes = f"{field.selects}: {codes(field.choices)}" if field.choices else field.selects
        rows.append((code(field.shown), takes, "yes" if field.takes_prefix else "", code(field.example)))
    return table(("field", "selects", "`*`", "example"), rows)


BLOCKS = {
    "laws": laws,
    "state-table": state_table,
    "condition-variables": condition_variables,
    "template-variables": template_variables,
    "until-variables": until_variables,
    "expression-filters": expression_filters,
    "expression-tests": expression_tests,
    "expression-limits": expression_limits,
    "file-keys": file_keys,
    "step-keys": lambda: keys_of(WorkerStep),
    "schedule-keys": lambda: keys_of(ScheduleKeys),
    "concurrency-keys": lambda: keys_of(ConcurrencyKeys),
    **{f"{kind}-keys": lambda own=own: keys_of(own) for kind, own in OWN_KEYS.items()},
    "action-file-keys": lambda: keys_of(ActionFile),
    "pack-file-keys": lambda: keys_of(PackFile),
    "not-yet": not_yet,
    "errors": errors,
    "filter-fields": filter_fields,
    "letter-filter-fields": letter_filter_fields,
}
