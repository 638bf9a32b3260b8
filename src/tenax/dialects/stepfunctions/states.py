"""Translates the states that do something: Task, Pass, Wait and Fail."""

from __future__ import annotations

import re
from typing import Any

from tenax.dialects.native.names import of_step, task_name, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, policy_fields
from tenax.dialects.native.templates import literal, literal_text
from tenax.dialects.native.workflow import Step
from tenax.dialects.reading.fields import Fields
from tenax.dialects.stepfunctions.data import Document, Reader, whole_input

_NO_TIMEOUT = 99_999_999.0  # seconds; the default of TimeoutSeconds
_FUNCTION = re.compile(r"arn:[\w-]+:lambda:[^:]*:[^:]*:function:([^:]+)(?::.*)?")
_ACTIVITY = re.compile(r"arn:[\w-]+:states:[^:]*:[^:]*:activity:(.+)")
_SERVICE = re.compile(r"arn:[\w-]+:states:::(.+?)(\.sync(?::2)?|\.waitForTaskToken)?")
_MACHINE = re.compile(r"arn:[\w-]+:states:[^:]*:[^:]*:stateMachine:([^:]+)(?::.*)?")
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
COMMON = (
    "Type",
    "Next",
    "End",
    "Comment",
    "Retry",
    "Catch",
    "InputPath",
    "OutputPath",
    "ResultPath",
    "ResultSelector",
)
_LEFT = {
    "HeartbeatSeconds": "is not carried over: the worker sends heartbeats by itself",
    "HeartbeatSecondsPath": "is not carried over: the worker sends heartbeats by itself",
    "TimeoutSecondsPath": "is not carried over: a timeout must be known before anything runs",
    "Credentials": "is not carried over: roles belong to workers",
    "Assign": "is not carried over: read the results of steps instead",
    "Output": "is not carried over: the result of a step is what it gives",
    "QueryLanguage": "is not carried over: JSONata is not evaluated here",
}


def add_state(reader: Reader, name: str, state: Fields) -> tuple[Step, Document]:
    """Adds the step of a state. Returns it with the document of its result."""
    kind = state.text("Type")
    match kind:
        case "Task":
            native, result = _task(reader, name, state)
        case "Pass":
            native, result = _pass(reader, name, state)
        case "Wait":
            native, result = _wait(reader, name, state), reader.document
        case _:
            native, result = _fail(reader, name, state), Document()
    state.ignore(*COMMON)
    state.rest(_LEFT)
    return native, result


def _task(reader: Reader, name: str, state: Fields) -> tuple[Step, Document]:
    resource = state.text("Resource")
    key = state.first_of("Parameters", "Arguments")
    given = reader.payload(state.take(key), (*state.path, key)) if key in state else None
    service = _SERVICE.fullmatch(resource)
    called = service[1] if service else ""
    if service and service[2] == ".waitForTaskToken":
        state.note(
            "changed", "Resource", "the task itself waits for the answer; there someone sends a task token"
        )
    result = Document(of_step(name))
    if called == "http:invoke" and isinstance(given, dict):
        native = _request(reader, name, state, given)
        result = Document(
            of_step(name), renames={"ResponseBody": "data", "StatusCode": "status_code", "Headers": "headers"}
        )
    elif called == "states:startExecution":
        native = _machine(reader, name, state, given if isinstance(given, dict) else {})
        result = Document(of_step(name), renames={"Output": ""})
    else:
        task, args, unwrapped = _function(reader, state, resource, called, given)
        native = reader.workflow.add(name, "python", state, task=task, args=args)
        result = Document(of_step(name), renames=unwrapped)
    native["timeout"] = duration(state.seconds("TimeoutSeconds", _NO_TIMEOUT))
    return native, result


def _function(
    reader: Reader, state: Fields, resource: str, called: str, given: Any
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Returns the name of the task for a function, its arguments, and the part of its result that is unwrapped."""
    event = given if given is not None else whole_input(reader.workflow, reader.document)
    if given is None and isinstance(event, dict):
        state.note("changed", None, f"gets the parts of the document that are known: {', '.join(event)}")
    if called == "lambda:invoke" and isinstance(given, dict):
        task = _last_name(str(given.get("FunctionName", "lambda")))
        sentence = f"the function becomes the task `{task}`, which gets the payload as `event`"
        state.note("changed", "Resource", f"{sentence}: register a Python function under this name")
        _report_unused(state, ("FunctionName", "Payload"))
        return task, {"event": given.get("Payload", {})}, {"Payload": ""}
    if called:
        task = task_name(f"aws.{called}")
        state.note(
            "dropped", "Resource", f"`{called}` has no counterpart: register a Python task as `{task}`"
        )
        return task, given if isinstance(given, dict) else {"event": event}, {}
    task = _last_name(resource)
    state.note("changed", "Resource", f"becomes the task `{task}`, which gets the input as `event`")
    return task, {"event": event}, {}


def _report_unused(state: Fields, used: tuple[str, ...]) -> None:
    """Reports the parameters of a service that are not carried over."""
    parameters = state.sub(state.first_of("Parameters", "Arguments"))
    parameters.ignore(*used, *(f"{key}.$" for key in used))
    parameters.rest()


def _last_name(resource: str) -> str:
    """Returns the name of a function: the end of its ARN, or the variable that stands for it."""
    for pattern in (_FUNCTION, _ACTIVITY, _MACHINE):
        found = pattern.fullmatch(resource)
        if found is not None:
            return task_name(found[1].replace("$LATEST", ""))
    variable = _VARIABLE.search(resource)
    return task_name(variable[1] if variable else resource.rpartition(":")[2])


def _request(reader: Reader, name: str, state: Fields, given: dict[str, Any]) -> Step:
    names = {"ApiEndpoint": "url", "Method": "method", "Headers": "headers", "QueryParameters": "params", "RequestBody": "json"}  # fmt: skip
    for key in given.keys() - names.keys():
        at = (*state.path, state.first_of("Parameters", "Arguments"), key)
        state.notes.add(
            "dropped", at, f"`{key}` has no counterpart: put `{{{{ secret.NAME }}}}` into the headers"
        )
    return reader.workflow.add(
        name, "http", state, **{names[key]: value for key, value in given.items() if key in names}
    )


def _machine(reader: Reader, name: str, state: Fields, given: dict[str, Any]) -> Step:
    child = workflow_name(_last_name(str(given.get("StateMachineArn", "child"))))
    state.note("changed", "Resource", f"starts the workflow `{child}`: store it under this name")
    _report_unused(state, ("StateMachineArn", "Input"))
    sent = given.get("Input", {})
    if isinstance(sent, dict):
        sent = {key: value for key, value in sent.items() if not key.startswith("AWS_STEP_FUNCTIONS")}
    return reader.workflow.add(name, "workflow", state, workflow=child, input=sent)


def _pass(reader: Reader, name: str, state: Fields) -> tuple[Step, Document]:
    """Makes a process that gives its parameters back."""
    key = state.first_of("Result", "Parameters", "Output")
    params = (
        literal(state.take(key)) if key == "Result" else reader.payload(state.take(key), (*state.path, key))
    )
    native = reader.workflow.add(name, "process", state, command=["cat"], params=params)
    native["timeout"] = duration(60.0)
    native["retry"] = policy_fields(FOREIGN)
    return native, Document(of_step(name))


def _wait(reader: Reader, name: str, state: Fields) -> Step:
    if "SecondsPath" in state:
        length: Any = reader.template(state.text("SecondsPath"), (*state.path, "SecondsPath"))
    elif "Seconds" in state:
        value = state.data["Seconds"]
        given = isinstance(value, str) and value.startswith("{%")
        length = (
            reader.payload(state.take("Seconds"), (*state.path, "Seconds"))
            if given
            else duration(state.seconds("Seconds"))
        )
    else:
        key = state.first_of("TimestampPath", "Timestamp")
        text = state.text(key)
        at = (
            reader.template(text, (*state.path, key))
            if key == "TimestampPath"
            else reader.payload(text, (*state.path, key))
        )
        return reader.workflow.add(name, "sleep", state, at=at)
    return reader.workflow.add(name, "sleep", state, for_=length)


def _fail(reader: Reader, name: str, state: Fields) -> Step:
    """Makes a process that fails with the state's error."""
    words = [state.text(key) for key in ("Error", "Cause") if key in state]
    paths = [key for key in ("ErrorPath", "CausePath") if key in state]
    words += [str(reader.template(state.text(key), (*state.path, key))) for key in paths]
    message = ": ".join(word if "{{" in word else literal_text(word) for word in words) or name
    command = ["sh", "-c", 'echo "$0" >&2; exit 1', message]
    native = reader.workflow.add(name, "process", state, command=command, timeout=duration(60.0))
    native["retry"] = policy_fields(FOREIGN)
    return native
