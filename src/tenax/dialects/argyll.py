"""Reads the steps of Argyll: `attributes` that link them, `http` or `script`, and `work_config`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tenax.dialects.native.names import file_title, member, of_step, task_name, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, retries_words, with_delays
from tenax.dialects.native.templates import literal
from tenax.dialects.native.workflow import NO_LIMIT, ForeignText, NativeWorkflow, Step, set_retry
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.model.policy import Policy

SIGNS = Signs(
    top={"goals": 3, "init": 2, "steps": 1, "flow_id": 3, "required": 0},
    part={"work_config": 5, "attributes": 3, "memoizable": 2, "predicate": 2, "init_backoff": 4, "backoff_type": 4, "max_backoff": 1, "max_retries": 1, "endpoint": 1, "health_check": 2},
    lists=("steps",),
)  # fmt: skip
_TYPES = {"sync": "http", "async": "http", "script": "script", "flow": "workflow"}
_CURVES = {"fixed": "fixed", "linear": "linear", "exponential": "exponential"}
_WORK_CONFIG = ("max_retries", "init_backoff", "backoff", "max_backoff", "backoff_type", "parallelism")
_DEFAULT_RETRIES = 10
_STEP_TIMEOUT = 30000.0  # milliseconds; the setting STEP_TIMEOUT
_CALLBACK_TIME = 24 * 3600.0  # seconds; an async step of Argyll waits for ever
_JSON_TYPES = {"string", "number", "boolean", "object", "array"}
PERMANENT = ("http_408", "http_425", "http_429")
"""Answers that ask to be repeated, which Argyll treats as permanent like every 4xx."""
_STEP = {
    "memoizable": "is not carried over: results are not kept for other executions",
    "health_check": "is not carried over: services are not probed",
    "labels": "is not carried over: labels here select workers",
}


def translate(top: Fields) -> list[NativeWorkflow]:
    """Returns one workflow for a file: a step, a list of steps, or a flow with its steps."""
    steps = _steps(top)
    wanted = [str(one) for one in top.listed("goals")]
    default = (
        _first_text(steps, "id") if len(steps) == 1 else file_title(top.notes.source.filename, "argyll-flow")
    )
    flow = (top.text("id") if steps != [top] else "") or top.text("flow_id") or default
    workflow = NativeWorkflow(workflow_name(flow), top.notes)
    if not steps:
        top.notes.mistake(top.path, "there are no `steps`")
    for step in steps:
        workflow.names.give(_id(step))
    links = _Links(workflow, steps, top)
    for step in steps:
        _step(workflow, step, links, wanted)
    links.report_unused(top)
    for goal in wanted:
        if workflow.names.find(goal) is None:
            top.notes.mistake((*top.path, "goals"), f"the goal `{goal}` is none of the steps")
    top.note("changed", None, f"Argyll gives up on every 4xx, so never_on names {', '.join(PERMANENT)}")
    if steps != [top]:
        top.ignore("name", "id", "flow_id")
        top.rest({"labels": "is not carried over", "metadata": "is not carried over"})
    return [workflow]


def _steps(top: Fields) -> list[Fields]:
    if "steps" not in top:
        return [top]
    if isinstance(top.data["steps"], dict):
        steps = top.sub("steps")
        found = [steps.sub(name) for name in steps.data if isinstance(steps.data[name], dict)]
        steps.rest()
        return found
    return top.each("steps")


def _first_text(steps: list[Fields], key: str) -> str:
    return next((str(step.data[key]) for step in steps if key in step), "argyll-step")


def _id(step: Fields) -> str:
    last = step.path[-1] if step.path and isinstance(step.path[-1], str) else "step"
    return step.text("id") or step.text("name", last)


class _Links:
    """Finds where the attributes of steps come from: from a step that gives them, or from the start of the flow."""

    def __init__(self, workflow: NativeWorkflow, steps: list[Fields], top: Fields) -> None:
        self._workflow = workflow
        self._sources: dict[str, list[str]] = {}
        self._init = top.mapping("init") if steps != [top] else {}
        for step in steps:
            for name, attribute in _attributes(step).items():
                if attribute.get("role") == "output":
                    self._sources.setdefault(name, []).append(workflow.names.give(_id(step)))

    def value(self, name: str, attribute: dict[str, Any], step: str) -> tuple[str, list[str]]:
        """Returns the expression of an attribute, and the steps that give it."""
        sources = [one for one in self._sources.get(name, []) if one != step]
        if sources:
            return member(f"{of_step(sources[0])}.data.outputs", name), sources
        return self._workflow.declare(name, **self._schema(name, attribute)), []

    def report_unused(self, top: Fields) -> None:
        """Reports the values of the start of the flow that no step takes."""
        for name in self._init:
            if name not in self._workflow.inputs:
                path = (*top.path, "init", name)
                top.notes.add("dropped", path, f"no step takes the value `{name}`")

    def _schema(self, name: str, attribute: dict[str, Any]) -> dict[str, Any]:
        kind = attribute.get("type")
        schema: dict[str, Any] = (
            {"type": kind} if str(kind) in _JSON_TYPES and not attribute.get("for_each") else {}
        )
        default = self._init.get(name, attribute.get("default"))
        if isinstance(default, list) and len(default) == 1 and name in self._init:
            default = default[0]  # the start of a flow gives each attribute a list of values
        if default is not None:
            return {"default": default}
        return {**schema, "required": attribute.get("role", "required") == "required"}


def _attributes(step: Fields) -> dict[str, dict[str, Any]]:
    return {name: one if isinstance(one, dict) else {} for name, one in step.mapping("attributes").items()}


def _step(workflow: NativeWorkflow, step: Fields, links: _Links, goals: list[str]) -> None:
    name = workflow.names.give(_id(step))
    kind = step.one_of("type", _TYPES, "sync")
    if not step.data.keys() - {"work_config", *_WORK_CONFIG}:
        kind = "fragment"
    arguments, needs, each = _arguments(step, links, name)
    if kind == "http":
        native = _http(workflow, step, name, arguments)
    elif kind == "workflow":
        native = _child(workflow, step, name, arguments)
    elif kind == "fragment":
        native = workflow.add(name, "python", step, task=name, timeout=duration(_STEP_TIMEOUT / 1000))
        step.note("dropped", None, f"is no whole step: register a Python task as `{name}`")
    else:
        native = _script(workflow, step, name, arguments)
    native["needs"] = needs
    native["goal"] = _id(step) in goals
    for key in ("needs", "goal"):
        if not native[key]:
            del native[key]
    config = step.part("work_config", *_WORK_CONFIG)
    parallelism = config.whole("parallelism", 1)
    if each is not None:
        native["for_each"] = each
        native["parallelism"] = max(parallelism, 1)
    elif "parallelism" in config:
        config.note(
            "dropped", "parallelism", "none of the attributes has `for_each`, so there is one work item"
        )
    _predicate(workflow, native, step)
    set_retry(native, read_retry(step, config), step, "work_config" if "work_config" in step else None)
    config.rest()
    step.ignore("id", "name", "version")
    step.rest(_STEP)


def _arguments(step: Fields, links: _Links, name: str) -> tuple[dict[str, Any], list[str], str | None]:
    arguments: dict[str, Any] = {}
    needs: list[str] = []
    each: str | None = None
    attributes = step.sub("attributes")
    for key, attribute in _attributes(step).items():
        reader = attributes.sub(key)
        role = reader.text("role", "required")
        reader.ignore("type", "default", "description")
        if role == "const":
            arguments[key] = literal(attribute.get("value", attribute.get("default")))
            reader.ignore("value")
        elif role in ("required", "optional"):
            expression, sources = links.value(key, attribute, name)
            needs += [source for source in sources if source not in needs]
            if len(sources) > 1:
                sentence = f"comes from {len(sources)} steps: it waits for all, and takes the value of `{sources[0]}`"
                reader.note("changed", None, sentence)
            if reader.flag("for_each", default=False):
                if each is not None:
                    reader.note("dropped", "for_each", "only one attribute makes work items here: the first")
                else:
                    each, expression = f"{{{{ {expression} }}}}", "item"
            arguments[key] = f"{{{{ {expression} }}}}"
        reader.rest()
    return arguments, needs, each


def _http(workflow: NativeWorkflow, step: Fields, name: str, arguments: dict[str, Any]) -> Step:
    http = step.sub("http")
    is_async = step.text("type") == "async"
    url = http.text("endpoint")
    if not url:
        step.notes.mistake(step.path, f"the step `{name}` needs `http.endpoint`")
    method = http.text("method", "POST").upper()
    keys: dict[str, Any] = {
        "url": _url(url, arguments),
        "method": method,
        "timeout": duration(http.seconds("timeout", _STEP_TIMEOUT, per_second=1000) or _STEP_TIMEOUT / 1000),
    }
    if method == "GET":
        keys["params"] = arguments
    else:
        keys["json"] = {
            "arguments": arguments,
            "metadata": {"flow_id": "{{ execution_id }}", "step_id": name},
        }
    if is_async:
        keys["async_"] = {"deadline": duration(_CALLBACK_TIME)}
        step.note(
            "changed", "type", "an async step waits for its callback for 24h; in Argyll it waits for ever"
        )
    native = workflow.add(name, "http", step, **keys)
    if not is_async:
        step.note(
            "changed",
            "http",
            "an answer 200 with `success: false` is a success here: answer with 4xx instead",
        )
    if "compensate" in http:
        native["compensate"] = _compensation(http)
    http.rest({"health_check": "is not carried over: services are not probed"})
    return native


def _url(url: str, arguments: dict[str, Any]) -> str:
    """Fills the placeholders `{name}` of an address with the arguments."""
    for key, value in arguments.items():
        url = url.replace(f"{{{key}}}", str(value))
    return url


def _compensation(http: Fields) -> dict[str, Any]:
    url = http.text("compensate")
    http.note("understood", "compensate", "undoes the step if the execution fails")
    return {"type": "http", "method": "POST", "url": url, "json": {"output": "{{ result }}"}}


def _child(workflow: NativeWorkflow, step: Fields, name: str, arguments: dict[str, Any]) -> Step:
    flow = step.sub("flow")
    goals = [str(one) for one in flow.listed("goals")]
    child = workflow_name("-".join(goals) or name)
    renamed = flow.mapping("input_map")
    inputs = {str(renamed.get(key, key)): value for key, value in arguments.items()}
    step.note("changed", "flow", f"starts the workflow `{child}`, which must be stored under this name")
    if "output_map" in flow:
        flow.note("dropped", "output_map", "the result of the child is the result of the step")
    flow.rest()
    return workflow.add(name, "workflow", step, workflow=child, input=inputs, timeout=duration(NO_LIMIT))


def _script(workflow: NativeWorkflow, step: Fields, name: str, arguments: dict[str, Any]) -> Step:
    script = step.sub("script")
    language = script.text("language", "ale")
    script.ignore("script", "source")
    task = task_name(name)
    script.note("dropped", "script", f"{language} is not run here: register a Python task as `{task}`")
    script.rest()
    native = workflow.add(name, "python", step, task=task, args=arguments)
    native["timeout"] = duration(_STEP_TIMEOUT / 1000)
    return native


def _predicate(workflow: NativeWorkflow, native: Step, step: Fields) -> None:
    if "predicate" not in step:
        return
    predicate = step.sub("predicate")
    script = predicate.text("script")
    predicate.ignore("language")
    predicate.rest()
    text = ForeignText(script, script, (*predicate.path, "script"))
    native["when"] = workflow.stand_in(text, f"{predicate.text('language', 'ale')} is not run here")


def read_retry(step: Fields, config: Fields) -> Policy:
    """Reads `work_config`. Its `max_retries` counts retries, and its delays are milliseconds without jitter."""
    base = config.seconds(config.first_of("init_backoff", "backoff"), 1000, per_second=1000) or 1.0
    cap = config.seconds("max_backoff", 60000, per_second=1000) or 60.0
    if base > cap:
        config.note(
            "changed", config.first_of("init_backoff", "backoff"), "is longer than max_backoff, which caps it"
        )
    curve = config.one_of("backoff_type", _CURVES, "exponential")
    policy = with_delays(FOREIGN, curve, base, cap)
    return replace(policy, max_attempts=_attempts(step, config), never_on=PERMANENT)


def _attempts(step: Fields, config: Fields) -> int | None:
    if "work_config" not in step and not config.data:
        total = _DEFAULT_RETRIES + 1
        step.note(
            "changed", None, f"no work_config: the defaults RETRY_* of Argyll, so max_attempts: {total}"
        )
        return total
    retries = config.whole("max_retries", 0)
    if retries < 0:
        config.note("changed", "max_retries", f"{retries}: max_attempts: unlimited")
        return None
    if not retries:
        config.note(
            "changed", "max_retries" if "max_retries" in config else None, "no retries: max_attempts: 1"
        )
        return 1
    config.note(
        "changed",
        "max_retries",
        f"{retries_words(retries)}: max_attempts: {retries + 1}, the first attempt included",
    )
    return retries + 1
