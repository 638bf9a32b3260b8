"""Translates the templates of Argo that do work: containers, scripts, suspends and requests."""

from __future__ import annotations

from typing import Any

from tenax.dialects.argo.retry import seconds_of
from tenax.dialects.argo.tags import Scope
from tenax.dialects.kubernetes.pods import POD, read_container
from tenax.dialects.native.policy import duration
from tenax.dialects.native.workflow import NO_LIMIT, Step
from tenax.dialects.reading.fields import Fields
from tenax.model.durations import parse_duration

LEAVES = ("container", "script", "suspend", "http", "resource", "data", "plugin", "containerSet")
_INLINE = {
    "python": "-c",
    "python3": "-c",
    "sh": "-c",
    "bash": "-c",
    "node": "-e",
    "ruby": "-e",
    "perl": "-e",
}
_RUN_FILE = 'f=$(mktemp) && printf %s "$0" > "$f" && "$@" "$f"'
_TEMPLATE = {
    **POD,
    "outputs": "is not carried over: the result is what the step prints, or the JSON in $TENAX_RESULT_FILE",
    "metadata": "is not carried over",
    "synchronization": "is not carried over: give the step a `concurrency`",
    "memoize": "is not carried over: results are not kept for other executions",
    "metrics": "is not carried over: `tenax stats` counts",
    "podSpecPatch": "is not carried over",
    "sidecars": "is not carried over: a step runs one process",
    "daemon": "is not carried over: a step ends with its process",
    "archiveLocation": "is not carried over",
    "parallelism": "is not carried over: give the fan-out its `parallelism`",
    "failFast": "is not carried over",
    "hooks": "is not carried over",
}


def kind_of(template: Fields) -> str:
    return next((key for key in ("steps", "dag", *LEAVES) if key in template.data), "")


def add_leaf(scope: Scope, name: str, template: Fields) -> Step:
    """Adds the step of a template. Its retries are set by the caller."""
    kind = kind_of(template)
    workflow = scope.workflow
    match kind:
        case "container":
            native = workflow.add(
                name, "process", template, **read_container(template.sub(kind), scope.value)
            )
        case "script":
            native = _script(scope, name, template)
        case "suspend":
            return _suspend(scope, name, template)
        case "http":
            native = _request(scope, name, template)
        case _:
            task = f"argo.{kind or 'template'}"
            native = workflow.add(name, "python", template, task=task)
            template.note(
                "dropped", kind or None, f"`{kind}` has no counterpart: register a Python task as `{task}`"
            )
    native.setdefault("timeout", duration(_timeout(template)))
    finish(template)
    return native


def finish(template: Fields) -> None:
    """Reports what is left of a template."""
    template.ignore("name", "retryStrategy", "activeDeadlineSeconds", "timeout")
    inputs = template.sub("inputs")
    for one in inputs.each("parameters"):
        one.ignore("name", "value", "default", "description", "enum")
        one.rest()
    inputs.rest({"artifacts": "is not carried over: pass references to files as parameters"})
    outputs = template.sub("outputs")
    for one in outputs.each("parameters"):
        where = one.mapping("valueFrom").get("path")
        if where:
            words = f'write {{"{one.text("name")}": ...}} as JSON into $TENAX_RESULT_FILE instead of {where}'
            one.note("changed", "valueFrom", words)
        one.ignore("name", "globalName")
        one.rest()
    outputs.rest({"artifacts": "is not carried over: pass references to files in the result"})
    template.rest(_TEMPLATE)


def _timeout(template: Fields) -> float:
    key = template.first_of("activeDeadlineSeconds", "timeout")
    value = template.data.get(key)
    if value is None:
        return NO_LIMIT
    try:
        seconds = parse_duration(value)
    except ValueError as error:
        template.note("dropped", key, f"{error}: the timeout is 365 days")
        return NO_LIMIT
    if not seconds:
        template.note("changed", key, "0 is no limit: the timeout is 365 days")
        return NO_LIMIT
    template.note("understood", key, f"is the timeout of an attempt: {duration(seconds)}")
    return seconds


def _script(scope: Scope, name: str, template: Fields) -> Step:
    script = template.sub("script")
    source = scope.value(script.text("source"), (*script.path, "source"))
    words = [str(word) for word in script.listed("command")] or ["sh"]
    found = read_container(
        Fields(script.notes, script.path, {**script.data, "source": None, "args": None}), scope.value
    )
    program = words[0].rpartition("/")[2]
    if program in _INLINE and len(words) == 1:
        command: list[Any] = [words[0], _INLINE[program], source]
    else:
        command = ["sh", "-c", _RUN_FILE, source, *words]
        script.note(
            "changed", "command", "the source is written to a file, which the command gets as its argument"
        )
    return scope.workflow.add(name, "process", template, **{**found, "command": command})


def _suspend(scope: Scope, name: str, template: Fields) -> Step:
    suspend = template.sub("suspend")
    if "duration" in suspend:
        written = suspend.text("duration")
        length: Any = scope.value(written, (*suspend.path, "duration"))
        if "{{" not in written:
            length = duration(seconds_of(suspend, "duration"))
        native = scope.workflow.add(name, "sleep", template, for_=length)
    else:
        template.note("understood", "suspend", "waits for an approval: tenax approve")
        native = scope.workflow.add(name, "wait", template)
    suspend.rest()
    finish(template)
    return native


def _request(scope: Scope, name: str, template: Fields) -> Step:
    http = template.sub("http")
    keys: dict[str, Any] = {"url": scope.value(http.text("url"), (*http.path, "url"))}
    keys["method"] = http.text("method", "GET")
    keys["headers"] = {
        one.text("name"): scope.value(one.text("value"), (*one.path, "value")) for one in http.each("headers")
    }
    for one in http.each("headers"):
        one.ignore("name", "value")
        one.rest({"valueFrom": "is not carried over: write `{{ secret.NAME }}`"})
    if "body" in http:
        keys["body"] = scope.value(http.text("body"), (*http.path, "body"))
    if "timeoutSeconds" in http:
        keys["timeout"] = duration(http.seconds("timeoutSeconds"))
    http.rest(
        {"successCondition": "is not carried over: every 2xx is a success", "bodyFrom": "is not carried over"}
    )
    return scope.workflow.add(name, "http", template, **keys)
