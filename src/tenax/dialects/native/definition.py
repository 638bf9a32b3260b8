"""Writes a workflow as a file that reads back as the same definition: its content has the same hash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tenax.dialects.native.policy import duration
from tenax.model.definition.types import SERVER_TYPES, StepType
from tenax.model.definition.workflow import (
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT,
    Budget,
    Concurrency,
    Input,
    OnFailure,
    Step,
    Tolerance,
    Until,
    Workflow,
)
from tenax.model.durations import duration_fields, format_duration, parse_duration
from tenax.model.parse.keys.step_types import OWN_KEYS
from tenax.model.parse.shape import keys_by_field
from tenax.model.policy import Patch, Policy, Rule
from tenax.model.source.yaml_text import yaml_text

_DURATIONS = duration_fields(Policy) | duration_fields(Rule)
_UNTIL = Until("")
_NOTHING = object()


def definition_text(workflow: Workflow) -> str:
    """Returns the workflow as YAML. Values of `defaults` stand at each step, except for the policy."""
    return yaml_text(dict(_file(workflow)))


def _file(workflow: Workflow) -> Iterator[tuple[str, Any]]:
    yield "name", workflow.name
    if workflow.version is not None:
        yield "version", workflow.version
    if workflow.description is not None:
        yield "description", workflow.description
    if workflow.inputs:
        yield "input", {name: _input(declared) for name, declared in workflow.inputs.items()}
    inherited = _inherited_timeout(workflow)
    defaults: dict[str, Any] = {}
    if workflow.retry is not None:
        defaults["retry"] = _patch(workflow.retry)
    if inherited != DEFAULT_TIMEOUT:
        defaults["timeout"] = _duration(inherited)
    if defaults:
        yield "defaults", defaults
    if workflow.deadline is not None:
        yield "deadline", _duration(workflow.deadline)
    if workflow.budget is not None:
        yield "budget", _budget(workflow.budget)
    if workflow.outputs is not None:
        yield "outputs", workflow.outputs
    yield "workflow", [{"step": step.name, **dict(_step(step, inherited))} for step in workflow.steps]


def _inherited_timeout(workflow: Workflow) -> float:
    """Returns the timeout that steps without one of their own have."""
    actions = (action for step in workflow.steps for action in (step, step.compensate) if action is not None)
    found = (action.timeout for action in actions if action.timeout_inherited)
    return next((timeout for timeout in found if timeout is not None), DEFAULT_TIMEOUT)


def _input(declared: Input) -> dict[str, Any]:
    written = dict(declared.schema)
    if declared.required:
        written["required"] = True
    if declared.has_default:
        written["default"] = declared.default
    return written


def _step(step: Step, inherited: float) -> Iterator[tuple[str, Any]]:
    """Yields the keys of a step, without those that have their defaults."""
    yield "type", step.type
    if step.needs:
        yield "needs", list(step.needs)
    if step.when is not None:
        yield "when", step.when
    if step.for_each is not None:
        yield "for_each", step.for_each
    if step.parallelism != 1:
        yield "parallelism", step.parallelism
    if step.tolerate is not None:
        yield "tolerate", _tolerance(step.tolerate)
    if step.goal:
        yield "goal", True
    yield from _action(step, inherited)
    if step.until is not None:
        yield "until", dict(_until(step.until))
    if step.concurrency is not None:
        yield "concurrency", dict(_concurrency(step.concurrency))
    if step.budget is not None:
        yield "budget", _budget(step.budget)
    if step.on_failure is not None:
        yield "on_failure", _on_failure(step.on_failure)
    if step.compensate is not None:
        yield "compensate", {"type": step.compensate.type, **dict(_action(step.compensate, inherited))}


def _action(step: Step, inherited: float) -> Iterator[tuple[str, Any]]:
    """Yields what a step or a compensation does, and where and how often it runs."""
    usual_keys = _usual_keys(step.type)
    yield from ((key, value) for key, value in step.spec.items() if usual_keys.get(key, _NOTHING) != value)
    usual = None if step.type in SERVER_TYPES else inherited
    if step.timeout != usual and step.timeout is not None and not step.timeout_inherited:
        yield "timeout", _duration(step.timeout)
    if step.queue != DEFAULT_QUEUE:
        yield "queue", step.queue
    if step.queue_ttl is not None:
        yield "queue_ttl", _duration(step.queue_ttl)
    if step.priority != DEFAULT_PRIORITY:
        yield "priority", step.priority
    if step.labels:
        yield "labels", dict(step.labels)
    if step.dependency is not None:
        yield "dependency", step.dependency
    if step.retry is not None:
        yield "retry", _patch(step.retry)


@cache
def _usual_keys(step_type: StepType) -> Mapping[str, Any]:
    """Returns the values that the keys of a type have if a file does not give them."""
    own = OWN_KEYS[step_type]
    names = keys_by_field(own)
    return {
        names[name]: field.default
        for name, field in own.model_fields.items()
        if name not in own.only_if_given
    }


def _duration(seconds: float) -> str | float:
    """Returns a duration as people write it: `90s` is `1m 30s`."""
    words = format_duration(seconds)
    return words if parse_duration(words) == seconds else duration(seconds)


def _patch(patch: Patch) -> Any:
    return patch if isinstance(patch, bool) else {name: _field(name, value) for name, value in patch.items()}


def _field(name: str, value: Any) -> Any:
    """Returns a field of a policy or of a rule as a file has it."""
    if name == "max_attempts" and value is None:
        return "unlimited"
    if name == "rules":
        return [{key: _field(key, one) for key, one in rule.items()} for rule in value]
    if name == "vary":
        return [json.loads(entry) for entry in value]
    if name in _DURATIONS and isinstance(value, int | float):
        return _duration(value)
    return list(value) if isinstance(value, tuple) else value


def _tolerance(tolerance: Tolerance) -> int | str:
    return tolerance.count if tolerance.percent is None else f"{tolerance.percent:.10g}%"


def _until(until: Until) -> Iterator[tuple[str, Any]]:
    yield "condition", until.condition
    if until.delay != _UNTIL.delay:
        yield "delay", _duration(until.delay)
    if until.max_polls != _UNTIL.max_polls:
        yield "max_polls", "unlimited" if until.max_polls is None else until.max_polls
    if until.deadline is not None:
        yield "deadline", _duration(until.deadline)


def _concurrency(limits: Concurrency) -> Iterator[tuple[str, Any]]:
    yield "limit", limits.key_limit if limits.limit is None else limits.limit
    if limits.action is not None:
        yield "action", limits.action
    if limits.key is not None:
        yield "key", limits.key
    if limits.limit is not None and limits.key_limit is not None:
        yield "key_limit", limits.key_limit


def _on_failure(replaced: OnFailure) -> Any:
    match replaced.action:
        case "continue":
            return "continue"
        case "value":
            return {"value": replaced.value}
        case "step":
            return {"step": replaced.step}


def _budget(budget: Budget) -> Mapping[str, Any]:
    given = {"cost_usd": budget.cost_usd, "tokens": budget.tokens}
    return {name: value for name, value in given.items() if value is not None}
