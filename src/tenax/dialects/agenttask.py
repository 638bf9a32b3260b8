"""Reads the agent tasks of Hortator: `kind: AgentTask` with `prompt`, `tier`, `budget` and `retry`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tenax.dialects.native.names import file_title, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, with_delays
from tenax.dialects.native.templates import literal_text
from tenax.dialects.native.workflow import NativeWorkflow, set_retry
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.model.policy import Policy

API = "core.hortator.ai/"
SIGNS = Signs(
    api=(API,),
    kinds=("AgentTask",),
    top={"spec": 0},
    part={"maxAttempts": 3, "backoffSeconds": 3, "maxBackoffSeconds": 3, "retry": 0, "prompt": 2, "tier": 2},
    lists=("spec",),
)
_TIERS = {"legionary": "legionary", "centurion": "centurion", "tribune": "tribune"}
_TIMEOUT = 600.0  # seconds
_SPEC = {
    "parentTaskId": "is not carried over: a parent starts its children itself",
    "thinkingLevel": "is not carried over: pass it to the agent in `env`",
    "image": "is not carried over: the agent is a command on a worker",
    "capabilities": "is not carried over: the command of the agent limits what it may do",
    "resources": "is not carried over: a worker does not limit memory or processors",
    "storage": "is not carried over: each attempt has an inbox and an outbox folder",
    "health": "is not carried over: an agent that hangs ends by its timeout",
    "presidio": "is not carried over",
    "maxIterations": "is not carried over",
    "exitCriteria": "is not carried over",
    "inputFiles": "is not carried over: put the files into the inbox",
}


def translate(top: Fields) -> list[NativeWorkflow]:
    """Returns the workflow of an AgentTask. A `spec` alone, or a `retry` alone, is one without a prompt."""
    meta, spec = top.sub("metadata"), top.sub("spec") if "spec" in top else top
    name = (
        meta.text("name")
        or meta.text("generateName").rstrip("-")
        or file_title(top.notes.source.filename, "agent-task")
    )
    workflow = NativeWorkflow(workflow_name(name), top.notes)
    meta.ignore(
        "labels", "annotations", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"
    )
    meta.rest({"namespace": "is not carried over: all workflows of a database share their names"})
    tier = spec.one_of("tier", _TIERS, "legionary")
    prompt = _prompt(spec)
    if not spec.text("prompt").strip():
        prompt = f"{{{{ {workflow.declare('prompt', type='string', required=True)} }}}}"
        spec.note("dropped", None, "has no prompt: it is the input `prompt`")
    native = workflow.add(
        workflow.names.give("agent"),
        "agent",
        spec,
        prompt=prompt,
        role=literal_text(spec.text("role")),
        model=literal_text(_model(spec)),
        env=_environment(spec),
        tier=tier,
        budget=_budget(spec, "budget"),
        timeout=duration(spec.seconds("timeout", _TIMEOUT) or _TIMEOUT),
    )
    workflow.budget = _budget(spec, "hierarchyBudget")
    if workflow.budget:
        spec.note("understood", "hierarchyBudget", "is the budget of the workflow and its children")
    retry = spec.part("retry", "maxAttempts", "backoffSeconds", "maxBackoffSeconds")
    set_retry(native, read_retry(retry), spec, "retry" if "retry" in spec else None)
    retry.rest()
    top.ignore("apiVersion", "kind", "status", "metadata")
    spec.rest(_SPEC)
    top.rest()
    return [workflow]


def _prompt(spec: Fields) -> str:
    """Returns the prompt. Hortator adds the `flavor` to the text of a role, and here it stands before the prompt."""
    prompt = literal_text(spec.text("prompt"))
    flavor = literal_text(spec.text("flavor"))
    if flavor:
        spec.note("changed", "flavor", "stands before the prompt")
        return f"{flavor.rstrip()}\n\n{prompt}"
    return prompt


def _model(spec: Fields) -> str:
    if isinstance(spec.data.get("model"), str):
        return spec.text("model")
    model = spec.sub("model")
    name = model.text("name")
    model.rest(
        {
            "endpoint": "is not carried over: give it to the command of the agent",
            "apiKeyRef": "is not carried over: pass the key in `env` as a secret of the worker",
        }
    )
    return name


def _environment(spec: Fields) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    for one in spec.each("env"):
        name = one.text("name")
        if "valueFrom" in one:
            one.note("changed", "valueFrom", f"the worker gives it as its secret TENAX_SECRET_{name.upper()}")
            variables[name] = f"{{{{ secret.{name} }}}}"
        else:
            variables[name] = literal_text(one.text("value"))
        one.rest()
    return variables


def _budget(spec: Fields, key: str) -> dict[str, Any]:
    """Reads `budget`, which is that of the agent itself, or `hierarchyBudget`, which is that of its tree."""
    budget = spec.sub(key)
    found: dict[str, Any] = {}
    tokens, cost = budget.whole("maxTokens"), budget.number("maxCostUsd")
    for key, name, limit in (("maxTokens", "tokens", tokens), ("maxCostUsd", "cost_usd", cost)):
        if limit < 0:
            budget.notes.mistake((*budget.path, key), "a budget must not be negative")
        elif limit > 0:
            found[name] = limit
        elif key in budget:
            budget.note(
                "dropped", key, "0 is no limit that an attempt could keep: leave out the retries instead"
            )
    budget.rest()
    return found


def read_retry(retry: Fields) -> Policy:
    """Reads `retry`. Its attempts are a total, as the code of its operator counts, and its delays are seconds."""
    total = retry.whole("maxAttempts", 0)
    if total < 1:
        key = "maxAttempts" if "maxAttempts" in retry else None
        retry.note("changed", key, "no retries: max_attempts: 1")
    base = retry.seconds("backoffSeconds", 30) or 30.0
    cap = retry.seconds("maxBackoffSeconds", 300) or 300.0
    if base > cap:
        retry.note("changed", "backoffSeconds", "is longer than maxBackoffSeconds, which caps it")
    policy = with_delays(FOREIGN, "exponential", base, cap, jitter=0.25)
    return replace(policy, max_attempts=max(total, 1))
