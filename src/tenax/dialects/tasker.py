"""Reads the task templates of Tasker: `steps` with `handler`, `dependencies` and `retry`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tenax.dialects.native.names import file_title, member, of_input, of_step, task_name, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, with_delays
from tenax.dialects.native.templates import literal
from tenax.dialects.native.workflow import NativeWorkflow, Step, set_retry
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.model.policy import Policy

SIGNS = Signs(
    top={"namespace_name": 4, "task_handler": 4, "system_dependencies": 3, "environments": 1, "steps": 1, "input_schema": 1, "domain_events": 2},
    part={"retry": 0, "backoff_base_ms": 4, "max_backoff_ms": 4, "callable": 3, "handler": 1, "dependencies": 2, "retry_limit": 3, "retryable": 3, "publishes_events": 2, "batch_config": 2},
    lists=("steps",),
)  # fmt: skip
_BACKOFFS = {"none": "none", "linear": "linear", "exponential": "exponential", "fibonacci": "fibonacci"}
_TYPES = {
    "standard": "standard",
    "decision": "decision",
    "deferred": "deferred_convergence",
    "deferred_convergence": "deferred_convergence",
    "batchable": "batchable",
    "batch_worker": "batch_worker",
}
_HANDLER_TIMEOUT = 30.0  # seconds; the setting handler_timeout_ms of Tasker's workers
_RETRY = ("retryable", "max_attempts", "backoff", "backoff_base_ms", "max_backoff_ms")
_MOST_ATTEMPTS = 1_000_000_000

_TOP = {
    "environments": "is not carried over: the values above it are used. Import the file once for each environment if they differ",
    "task_handler": "is not carried over: there is no handler of a whole task",
    "system_dependencies": "is not carried over: name the service of a step in its `dependency`",
    "domain_events": "is not carried over: the events of an execution are in its log",
    "lifecycle": "is not carried over: give the workflow a `deadline`; executions do not become stale",
}
_STEP = {
    "publishes_events": "is not carried over: the events of an execution are in its log",
    "result_schema": "is not carried over: results are not checked",
    "system_dependency": "is not carried over: name the service in `dependency`",
}


def translate(top: Fields) -> list[NativeWorkflow]:
    """Returns the workflow of a template. A step alone, or a `retry` alone, is a template of one step."""
    alone = "steps" not in top
    name = top.text("name") or file_title(top.notes.source.filename, "tasker-step")
    space = top.text("namespace_name")
    workflow = NativeWorkflow(workflow_name(f"{space}.{name}" if space else name), top.notes)
    workflow.version = top.text("version") or None
    workflow.description = top.text("description") or None
    _inputs(workflow, top)
    steps = [top] if alone else top.each("steps")
    if not steps:
        top.notes.mistake(top.path, "the template has no `steps`")
    for step in steps:
        workflow.names.give(step.text("name", "step"))
    kinds = {step.text("name", "step"): step.one_of("type", _TYPES, "standard") for step in steps}
    for step in steps:
        _step(workflow, step, kinds)
    top.ignore("metadata")
    top.rest(_TOP)
    return [workflow]


def _inputs(workflow: NativeWorkflow, top: Fields) -> None:
    """Declares an input for each property of the schema of the whole context."""
    schema = top.sub("input_schema")
    required = schema.take("required", [])
    for name, one in schema.mapping("properties").items():
        declared = dict(one) if isinstance(one, dict) else {}
        declared.pop("required", None) if isinstance(declared.get("required"), bool) else None
        if name in required and "default" not in declared:
            declared["required"] = True
        workflow.declare(name, **declared)
        workflow.schemas[name] = (*schema.path, "properties", name)
    if workflow.inputs:
        top.note("understood", "input_schema", f"its properties are inputs: {', '.join(workflow.inputs)}")
    schema.ignore("type", "$schema")
    schema.rest()


def _step(workflow: NativeWorkflow, step: Fields, kinds: dict[str, str]) -> None:
    original = step.text("name", "step")
    name = workflow.names.give(original)
    if name != original:
        step.note("changed", "name", f"the name `{original}` becomes `{name}`")
    needs, whens = _needs(workflow, step, kinds)
    task, args = _handler(workflow, step, original)
    native = workflow.add(name, "python", step, needs=needs, task=task, args=args)
    if whens:
        native["when"] = " and ".join(whens)
    _batches(native, step, kinds, needs)
    _timeout(native, step)
    set_retry(native, read_retry(step), step, "retry" if "retry" in step else None)
    step.ignore("description")
    if step.data.get("steps") is None and step.path:
        step.rest(_STEP)


def _needs(workflow: NativeWorkflow, step: Fields, kinds: dict[str, str]) -> tuple[list[str], list[str]]:
    """Returns the steps that a step waits for, and the conditions under which decision steps create it."""
    key = step.first_of("dependencies", "depends_on", "depends_on_step", "depends_on_steps")
    needs, whens = [], []
    for original in map(str, step.listed(key)):
        found = workflow.names.find(original)
        if found is None:
            step.notes.mistake((*step.path, key), f"depends on `{original}`, and there is no such step")
            continue
        needs.append(found)
        if kinds.get(original) == "decision":
            own = workflow.names.give(step.text("name", "step"))
            whens.append(f"'{own}' in {of_step(found)}.step_names")
            sentence = f"step `{own}` runs if the result of `{found}` names it: its task returns {{step_names: [...]}}"
            step.note("changed", key, sentence)
    return needs, whens


def _handler(workflow: NativeWorkflow, step: Fields, original: str) -> tuple[str, dict[str, Any]]:
    """Returns the registered name of the task that stands for a handler, and its arguments."""
    if isinstance(step.data.get("handler"), str):
        step.note("changed", "handler", "register a Python task under this name")
        callable_, initialization = step.text("handler"), {}
    elif "handler" in step:
        handler = step.sub("handler")
        callable_ = handler.text("callable") or original
        method = handler.text("method")
        callable_ = f"{callable_}.{method}" if method and method != "call" else callable_
        initialization = handler.mapping("initialization")
        handler.rest({"resolver": "is not carried over: tasks are found by their names"})
        sentence = f"the handler becomes the task `{task_name(callable_)}`: register a Python function under this name"
        handler.note("changed", "callable" if "callable" in handler else None, sentence)
    else:
        callable_ = step.text("handler_class") or original
        initialization = {}
        step.note("dropped", None, f"names no handler: register a Python task as `{task_name(callable_)}`")
    args: dict[str, Any] = {"context": {name: f"{{{{ {of_input(name)} }}}}" for name in workflow.inputs}}
    if initialization:
        args["initialization"] = literal(initialization)
    return task_name(callable_), {key: value for key, value in args.items() if value}


def _batches(native: Step, step: Fields, kinds: dict[str, str], needs: list[str]) -> None:
    """Makes a batch worker a fan-out over the cursors that its batchable step gives."""
    kind = kinds.get(step.text("name", "step"))
    batch = step.sub("batch_config")
    if kind == "batchable":
        step.note(
            "changed", "type", "a batchable step returns {cursors: [...]}, over which its workers fan out"
        )
    if kind == "batch_worker" and needs:
        native["for_each"] = f"{{{{ {member(of_step(needs[0]), 'cursors')} }}}}"
        native["parallelism"] = max(batch.whole("parallelism", 10), 1)
        native.setdefault("args", {})["cursor"] = "{{ item }}"
        step.note("changed", "type", f"a batch worker becomes a fan-out over `{needs[0]}.result.cursors`")
    batch.rest({"batch_size": "is not carried over: the batchable step makes the cursors"})


def _timeout(native: Step, step: Fields) -> None:
    if "timeout_seconds" in step:
        native["timeout"] = duration(step.seconds("timeout_seconds") or _HANDLER_TIMEOUT)
        return
    native["timeout"] = duration(_HANDLER_TIMEOUT)


def read_retry(step: Fields) -> Policy:
    """Reads `retry`. Its attempts are a total, and its delays are milliseconds."""
    retry = step.part("retry", *_RETRY)
    base = retry.seconds("backoff_base_ms", 1000, per_second=1000)
    cap = retry.seconds("max_backoff_ms", 30000, per_second=1000)
    if base > cap:
        retry.note(
            "changed", "backoff_base_ms", f"is longer than max_backoff_ms, which caps it: {duration(cap)}"
        )
    backoff = retry.one_of("backoff", _BACKOFFS, "exponential")
    policy = with_delays(FOREIGN, backoff, base, cap)
    retryable = (
        retry.flag("retryable", default=True)
        if "retryable" in retry
        else step.flag("retryable", default=True)
    )
    policy = replace(
        policy,
        max_attempts=_attempts(step, retry),
        retryable=retryable,
        honor_retry_after=True,
        max_retry_after=policy.max_delay,
    )
    if "jitter" in retry or "backoff_multiplier" in retry:
        retry.note("dropped", "jitter", "the jitter and the growth of Tasker are settings of its server")
    if policy.max_attempts != 1 and not retryable:
        retry.note("changed", "retryable", "false: only the first attempt runs, whatever max_attempts says")
    retry.rest()
    return policy


def _attempts(step: Fields, retry: Fields) -> int:
    """Returns the total of attempts. `retry_limit` is the old name, and may stand in the step itself."""
    for fields in (retry, step):
        for key in ("max_attempts", "retry_limit"):
            if key not in fields:
                continue
            found = fields.whole(key)
            if key == "retry_limit":
                fields.note("changed", key, f"the old name of max_attempts: max_attempts: {max(found, 1)}")
            if found < 1:
                fields.note(
                    "changed",
                    key,
                    f"{found} can never run (a mistake, most likely): it becomes max_attempts: 1",
                )
            return min(max(found, 1), _MOST_ATTEMPTS)
    return 3
