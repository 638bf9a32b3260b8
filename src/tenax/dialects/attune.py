"""Reads the actions and workflows of Attune: action files with `max_retries`, and workflows with `tasks`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tenax.dialects.attune_flow import edges_of
from tenax.dialects.native.names import file_title, member, of_input, of_step, task_name, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, retries_words, with_delays
from tenax.dialects.native.templates import condition, rewrite_expression, rewrite_value
from tenax.dialects.native.transitions import place_steps
from tenax.dialects.native.workflow import NativeWorkflow, Step, set_retry
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.model.packs.names import is_action_ref
from tenax.model.policy import Policy

SIGNS = Signs(
    top={"tasks": 2, "runner_type": 4, "entry_point": 4, "entrypoint": 3, "max_retries": 2, "timeout_seconds": 1, "parameters": 1, "runtime": 1, "ref": 1, "vars": 1, "output_map": 2, "parameter_delivery": 4},
    part={"action": 2, "with_items": 2, "on_success": 1, "publish": 1, "concurrency": 1},
    lists=("tasks",),
)  # fmt: skip
_TIMEOUT = 300.0  # seconds; the limit of all actions that set none
_QUEUE_TTL = 300.0  # seconds
_CURVES = {"constant": "fixed", "fixed": "fixed", "linear": "linear", "exponential": "exponential"}
_TYPES = {"action": "action", "parallel": "parallel", "workflow": "action"}
_INTERPRETERS = {"python": "python3", "python3": "python3", "shell": "sh", "bash": "bash", "sh": "sh", "node": "node", "nodejs": "node", "ruby": "ruby", "perl": "perl"}  # fmt: skip
_KEYWORDS = ("type", "description", "default", "required", "enum", "items", "properties", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "format")  # fmt: skip
_ACTION = {
    "output": "is not carried over: results are not checked",
    "output_format": "is not carried over: output that is JSON is parsed",
    "parameter_delivery": "is not carried over: parameters arrive as JSON on stdin and in $TENAX_PARAMS_FILE",
    "parameter_format": "is not carried over: parameters arrive as JSON on stdin and in $TENAX_PARAMS_FILE",
    "runtime_version": "is not carried over: the worker has its own",
    "worker_selector": "is not carried over: give the step `labels`",
    "worker_affinity": "is not carried over: give the step `labels`",
    "worker_tolerations": "is not carried over: give the step a `queue`",
}
_TASK = {
    "publish": "is not carried over: read the results of steps instead",
    "delay": "is not carried over: add a step of type sleep before it",
    "wait_for": "is not carried over: add a step of type wait before it",
    "batch_size": "is not carried over: each element is an item of its own",
    "iterate_cache": "is not carried over",
    "permission_set_refs": "is not carried over",
    "placement": "is not carried over: give the step `labels`",
    "on_complete": "is not carried over",
    "on_timeout": "is not carried over: a timeout is a failure like others",
}


def translate(top: Fields) -> list[NativeWorkflow]:
    top.ignore("name", "ref", "label", "tags", "enabled")
    ref = top.text("ref") or top.text("name") or file_title(top.notes.source.filename, "attune-action")
    workflow = NativeWorkflow(workflow_name(ref), top.notes)
    workflow.description = top.text("description") or top.text("label") or None
    version = top.text("version")
    workflow.version = version or None
    _parameters(workflow, top)
    if "tasks" in top:
        _Tasks(workflow, top).translate()
        top.rest({"vars": "is not carried over: read the results of steps instead", "output_schema": "is not carried over: results are not checked", "metadata": "is not carried over"})  # fmt: skip
    else:
        _action(workflow, top)
    return [workflow]


def _parameters(workflow: NativeWorkflow, top: Fields) -> None:
    """Declares an input for each parameter. Both forms are read: flat ones, and a JSON Schema with `properties`."""
    parameters = top.sub("parameters")
    listed = parameters
    required: list[Any] = []
    if isinstance(parameters.data.get("properties"), dict) and parameters.data.get("type") == "object":
        listed, required = parameters.sub("properties"), parameters.listed("required")
        parameters.ignore("type", "$schema")
        parameters.rest()
    for name in list(listed.data):
        if not isinstance(listed.data[name], dict):
            listed.note("dropped", name, "is no parameter: it has no type")
            continue
        one = listed.sub(name)
        schema = {key: one.take(key) for key in _KEYWORDS if key in one}
        if not isinstance(schema.get("required"), list):
            wanted = bool(schema.pop("required", False)) or name in required
            if wanted and "default" not in schema:
                schema["required"] = True
        one.rest(
            {
                "secret": "is not carried over: pass it as `{{ secret.NAME }}`",
                "position": "is not carried over",
            }
        )
        workflow.declare(name, **schema)
        workflow.schemas[name] = one.path
    if workflow.inputs:
        top.note("understood", "parameters", f"they are inputs: {', '.join(workflow.inputs)}")


def _action(workflow: NativeWorkflow, top: Fields) -> None:
    """Makes a workflow of one step of an action."""
    name = workflow.names.give(workflow.name.rpartition(".")[2] or "action")
    params = {key: f"{{{{ {of_input(key)} }}}}" for key in workflow.inputs}
    entry = top.first_of("entry_point", "entrypoint", "command")
    runner = top.text("runner_type") or top.text("runtime") or "shell"
    if "workflow_file" in top:
        child = workflow_name(top.text("workflow_file").rpartition("/")[2].partition(".")[0])
        top.note("changed", "workflow_file", f"starts the workflow `{child}`: store it under this name")
        native = workflow.add(name, "workflow", top, workflow=child, input=params)
    elif entry not in top:
        top.note(
            "dropped", None, f"names no entry point: register a Python task as `{task_name(workflow.name)}`"
        )
        native = workflow.add(name, "python", top, task=task_name(workflow.name), args=params)
    else:
        command = _command(top, entry, runner)
        native = workflow.add(name, "process", top, command=command, params=params)
    top.ignore("runner_type", "runtime")
    _finish(native, top, read_max_retries(top), "max_retries" if "max_retries" in top else None)
    top.rest(_ACTION)


def _command(top: Fields, entry: str, runner: str) -> Any:
    written = top.take(entry)
    if entry == "command":
        return written
    program = _INTERPRETERS.get(runner.lower())
    if program is None:
        top.note("changed", entry, f"the runtime `{runner}` is not known: the file itself is run")
        return [str(written)]
    top.note("changed", entry, f"runs as `{program} {written}` in the folder of the workflow file")
    return [program, str(written)]


def _finish(native: Step, fields: Fields, policy: Policy, key: str | None) -> None:
    timeout = fields.first_of("timeout_seconds", "timeout")
    if isinstance(fields.data.get(timeout), str) and "{{" in fields.data[timeout]:
        fields.note("dropped", timeout, "a timeout cannot be a template")
        native["timeout"] = duration(_TIMEOUT)
    elif timeout in fields or native["type"] != "action":  # an action of a pack has its own timeout
        native["timeout"] = duration(fields.seconds(timeout, _TIMEOUT) or _TIMEOUT)
    if native["type"] != "workflow":
        native["queue_ttl"] = duration(_QUEUE_TTL)
    set_retry(native, policy, fields, key)


def read_max_retries(top: Fields) -> Policy:
    """Reads the retries of an action. They have the delays of Attune's executor."""
    retries = top.whole("max_retries", 0)
    total = max(retries, 0) + 1
    if retries > 0:
        top.note(
            "changed",
            "max_retries",
            f"{retries_words(retries)}: max_attempts: {total}, the first attempt included",
        )
    return replace(with_delays(FOREIGN, "exponential", 1.0, 300.0, jitter=0.2), max_attempts=total)


def read_task_retry(task: Fields) -> Policy:
    """Reads the `retry` of a task of a workflow. Without a delay of its own it has those of an action."""
    if "retry" not in task:
        return read_max_retries(task)
    if not isinstance(task.data["retry"], dict):
        task = Fields(task.notes, task.path, {**task.data, "retry": {"count": task.take("retry")}})
    retry = task.sub("retry")
    count = retry.whole("count", 0)
    total = max(count, 0) + 1
    if "count" in retry:
        retry.note(
            "changed", "count", f"{retries_words(count)}: max_attempts: {total}, the first attempt included"
        )
    base = retry.seconds("delay", 1.0)
    cap = retry.seconds("max_delay", 300.0)
    if base > cap:
        retry.note("changed", "delay", "is longer than max_delay, which caps it")
    curve = retry.one_of("backoff", _CURVES, "constant" if "delay" in retry else "exponential")
    retry.rest({"on_error": "is not carried over: Attune does not evaluate it either"})
    return replace(with_delays(FOREIGN, curve, base, cap, jitter=0.2), max_attempts=total)


class _Tasks:
    """Translates the tasks of a workflow."""

    def __init__(self, workflow: NativeWorkflow, top: Fields) -> None:
        self.workflow = workflow
        self.top = top
        self.tasks = {task.text("name"): task for task in top.each("tasks")}
        self.published: dict[str, str] = {}

    def translate(self) -> None:
        for name in self.tasks:
            self.workflow.names.give(name)
        self._find_published()
        edges = {
            target: [
                replace(edge, when=self._condition(edge.when), original=edge.when or "") for edge in incoming
            ]
            for target, incoming in edges_of(self.tasks).items()
        }
        steps = {name: self._task(name, task) for name, task in self.tasks.items()}
        place_steps(self.workflow, steps, edges, join=lambda name: "join" in self.tasks[name])
        outputs = self.top.mapping("output_map")
        if outputs:
            self.workflow.outputs = rewrite_value(outputs, self.rewrite, (*self.top.path, "output_map"))

    def _condition(self, text: str | None) -> str | None:
        return None if text is None else rewrite_expression(condition(text), self.rewrite)

    def _task(self, name: str, task: Fields) -> Step:
        own = self.workflow.names.give(name)
        task.one_of("type", _TYPES, "action")
        action = task.text("action") or name
        params = rewrite_value(task.take("input", {}), self.rewrite, (*task.path, "input"))
        if action == "core.http_request" and isinstance(params, dict) and "url" in params:
            native = self._http(own, task, params)
        elif action in ("core.noop", "core.echo"):
            native = self.workflow.add(own, "process", task, command=["cat"], params=params)
        elif is_action_ref(action):
            sentence = f"runs the action `{action}` of a pack: tenax pack install FOLDER"
            if "retry" not in task:
                sentence += "; its `max_retries` do not count here, since the step has a `retry`"
            task.note("changed", "action", sentence)
            native = self.workflow.add(own, "action", task, action=action, params=params)
        else:
            task.note(
                "changed",
                "action",
                f"register a Python task as `{task_name(action)}`, or name a step type of your own",
            )
            native = self.workflow.add(own, "python", task, task=task_name(action), args=params)
        if "with_items" in task:
            native["for_each"] = rewrite_value(
                task.take("with_items"), self.rewrite, (*task.path, "with_items")
            )
            native["parallelism"] = max(task.whole("concurrency", 1), 1)
        _finish(native, task, read_task_retry(task), "retry" if "retry" in task else None)
        task.ignore(
            "name",
            "description",
            "label",
            "join",
            "next",
            "on_success",
            "on_failure",
            "decision",
            "max_retries",
        )
        self._published_only(task)
        task.rest(_TASK)
        return native

    def _http(self, name: str, task: Fields, params: dict[str, Any]) -> Step:
        names = {"url": "url", "method": "method", "headers": "headers", "body": "body", "json_body": "json", "query_params": "params", "follow_redirects": "follow_redirects"}  # fmt: skip
        for key in params.keys() - names.keys():
            task.notes.add(
                "dropped", (*task.path, "input", key), f"`{key}` has no counterpart in an http step"
            )
        return self.workflow.add(
            name, "http", task, **{names[key]: value for key, value in params.items() if key in names}
        )

    # -- templates

    def _find_published(self) -> None:
        """Finds the variables that are published only once. The published expression replaces each of them."""
        seen: dict[str, list[str]] = {}
        for task in self.tasks.values():
            for source in (task.data, *(one for one in _dicts(task.data.get("next")))):
                for one in _dicts(source.get("publish")):
                    for name, value in one.items():
                        seen.setdefault(name, []).append(str(value))
        for name, values in seen.items():
            inner = condition(values[0])
            if (
                len(values) == 1
                and inner != values[0]
                and all(part.isidentifier() for part in inner.split("."))
            ):
                self.published[name] = inner

    def _published_only(self, task: Fields) -> None:
        """Counts `publish` as read if each of its variables is replaced by its value."""
        names = [name for one in _dicts(task.data.get("publish")) for name in one]
        if names and all(name in self.published for name in names):
            task.note(
                "changed",
                "publish",
                f"{', '.join(names)}: read from the results of the step where it is used",
            )

    def rewrite(self, parts: tuple[str, ...]) -> str | None:
        root, *below = parts
        if root in ("parameters", "params", "action") and below:
            if below[0] not in self.workflow.inputs:
                self.workflow.declare(below[0], required=True)
            return _path(of_input(below[0]), below[1:])
        if root in ("task", "tasks") and below and below[0] in self.tasks:
            rest = below[2:] if below[1:2] == ["result"] else below[1:]
            return _path(of_step(self.workflow.names.give(below[0])), rest)
        if root in ("workflow", "vars", "ctx") and below and below[0] in self.published:
            inner = self.published[below[0]].split(".")
            return self.rewrite((*inner, *below[1:]))
        return None


def _path(base: str, below: list[str]) -> str:
    for key in below:
        base = member(base, int(key) if key.isdecimal() else key)
    return base


def _dicts(value: Any) -> list[dict[str, Any]]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]
