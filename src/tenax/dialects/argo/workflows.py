"""Reads the workflows of Argo: the entry point becomes a workflow, and each template of steps that it calls becomes a workflow
of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tenax.dialects.argo.leaves import add_leaf, finish, kind_of
from tenax.dialects.argo.retry import read_retry
from tenax.dialects.argo.tags import Scope
from tenax.dialects.native.names import file_title, of_step, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, policy_fields
from tenax.dialects.native.schedules import read_schedule
from tenax.dialects.native.templates import literal
from tenax.dialects.native.workflow import NO_LIMIT, ForeignText, NativeWorkflow, Step, set_retry
from tenax.dialects.reading.fields import Fields, as_number
from tenax.dialects.reading.recognise import Signs
from tenax.model.policy import Policy

SIGNS = Signs(
    api=("argoproj.io/",),
    kinds=("Workflow", "CronWorkflow", "WorkflowTemplate", "ClusterWorkflowTemplate"),
    top={"entrypoint": 1, "templates": 3},
    part={"retryStrategy": 5, "retryPolicy": 4, "templates": 2, "limit": 1},
    lists=("spec", "templates"),
)
_PARALLEL = 1_000_000  # items at once; Argo starts all of them
_MOST_ITEMS = 100_000
_SPEC = {
    "onExit": "is not carried over: no step runs after a workflow has ended",
    "hooks": "is not carried over: no step runs after a workflow has ended",
    "volumes": "is not carried over: processes see the files of their workers",
    "volumeClaimTemplates": "is not carried over: processes see the files of their workers",
    "ttlStrategy": "is not carried over: finished executions are kept as the settings say",
    "podGC": "is not carried over",
    "artifactRepositoryRef": "is not carried over",
    "parallelism": "is not carried over as a whole: it is the `parallelism` of each fan-out",
    "synchronization": "is not carried over: give the steps a `concurrency`",
}
_DEPENDS = re.compile(
    r"\s+|(?P<op>&&|\|\||[!()])|(?P<name>[A-Za-z0-9_-]+)(?:\.(?P<state>[A-Za-z]+))?|(?P<other>.)", re.DOTALL
)
_STATES = {
    "Succeeded": "== 'completed'", "Failed": "== 'failed'", "Errored": "== 'failed'", "Skipped": "== 'skipped'",
    "Omitted": "== 'skipped'", "Daemoned": "== 'completed'",
}  # fmt: skip
_CALL = ("name", "template", "arguments", "inline", "templateRef")


def translate(top: Fields) -> list[NativeWorkflow]:
    meta, spec = top.sub("metadata"), top.sub("spec")
    name = workflow_name(
        meta.text("name")
        or meta.text("generateName").rstrip("-")
        or file_title(top.notes.source.filename, "argo-workflow")
    )
    meta.ignore(
        "labels", "annotations", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"
    )
    meta.rest({"namespace": "is not carried over: all workflows of a database share their names"})
    top.ignore("apiVersion", "kind", "status")
    body = spec
    if "workflowSpec" in spec:
        body = spec.sub("workflowSpec")
    elif "spec" not in top:
        body = top
    made = _Argo(name, body).translate()
    if made and "workflowSpec" in spec:
        read_schedule(made[0], spec, catches_up=False)
        spec.rest(dict.fromkeys(spec.data, "is not carried over"))
    body.rest(_SPEC)
    if body is not top:
        top.rest()
    return made


class _Argo:
    """Translates one document."""

    def __init__(self, name: str, spec: Fields) -> None:
        self.name = name
        self.spec = spec
        self.templates = {one.text("name"): one for one in spec.each("templates")}
        self.made: dict[str, NativeWorkflow] = {}
        self.parameters = spec.sub("arguments")
        self.defaults: dict[str, Any] = {}

    def translate(self) -> list[NativeWorkflow]:
        entry = self.spec.text("entrypoint")
        if "workflowTemplateRef" in self.spec:
            found = self.spec.sub("workflowTemplateRef").text("name")
            self.spec.notes.mistake(
                (*self.spec.path, "workflowTemplateRef"), f"the steps are in `{found}`: import that"
            )
        elif entry and entry not in self.templates:
            self.spec.notes.mistake((*self.spec.path, "entrypoint"), f"there is no template `{entry}`")
        elif not self.templates:
            self.spec.notes.mistake(self.spec.path, "there are no `templates`")
        entries = [entry] if entry else [name for name in self.templates if name]
        self._read_parameters()
        for index, one in enumerate(name for name in entries if name in self.templates):
            self._workflow(self.name if entry or index == 0 else workflow_name(f"{self.name}-{one}"), one)
        for name, template in self.templates.items():
            if name not in self.made and name not in self._called():
                template.note("dropped", None, f"no step calls the template `{name}`")
        self._deadline()
        shared = self.spec.sub("templateDefaults")
        shared.ignore("retryStrategy")
        shared.rest()
        self.spec.ignore("retryStrategy")
        return list(self.made.values())

    def _called(self) -> set[str]:
        return {
            str(call.get("template"))
            for template in self.templates.values()
            for call in _calls(template.data)
        }

    def _read_parameters(self) -> None:
        for one in self.parameters.each("parameters"):
            self.defaults[one.text("name")] = one.take("value", one.data.get("default"))
            one.ignore("default", "enum", "description", "globalName")
            one.rest({"valueFrom": "is not carried over: give the value as an input"})
        self.parameters.rest({"artifacts": "is not carried over: pass references to files as inputs"})

    def _deadline(self) -> None:
        if "activeDeadlineSeconds" in self.spec:
            seconds = self.spec.seconds("activeDeadlineSeconds")
            for workflow in list(self.made.values())[:1]:
                workflow.deadline = duration(seconds)
            self.spec.note(
                "understood", "activeDeadlineSeconds", f"is the deadline of the workflow: {duration(seconds)}"
            )

    def _workflow(self, name: str, template_name: str) -> NativeWorkflow:
        """Makes the workflow of a template: of its steps, or of itself if it does work."""
        if template_name in self.made:
            return self.made[template_name]
        template = self.templates[template_name]
        workflow = self.made[template_name] = NativeWorkflow(name, self.spec.notes)
        is_entry = len(self.made) == 1
        for parameter, value in self.defaults.items() if is_entry else ():
            workflow.declare(parameter, **({"required": True} if value is None else {"default": value}))
        for one in template.sub("inputs").each("parameters"):
            default = one.data.get("value", one.data.get("default"))
            workflow.declare(
                one.text("name"), **({"required": True} if default is None else {"default": default})
            )
        scope = Scope(workflow)
        match kind_of(template):
            case "steps":
                self._steps(scope, template)
            case "dag":
                self._dag(scope, template)
            case _:
                native = add_leaf(scope, workflow.names.give(template_name), template)
                self._retry(native, template)
        if kind_of(template) in ("steps", "dag"):
            if "retryStrategy" in template and is_entry:
                template.note(
                    "dropped", "retryStrategy", "of the entry point: submit the workflow again instead"
                )
            finish(template)
        return workflow

    # -- graphs

    def _steps(self, scope: Scope, template: Fields) -> None:
        """Translates groups of steps: each group waits for all steps of the one before."""
        before: list[str] = []
        groups = template.listed("steps")
        for row, group in enumerate(groups):
            listed = group if isinstance(group, list) else [group]
            path = (*template.path, "steps", row)
            calls = [
                Fields(template.notes, (*path, column) if isinstance(group, list) else path, one)
                for column, one in enumerate(listed)
                if isinstance(one, dict)
            ]
            for call in calls:
                scope.workflow.names.give(call.text("name", "step"))
            before = [str(self._call(scope, call, before)["step"]) for call in calls] or before

    def _dag(self, scope: Scope, template: Fields) -> None:
        dag = template.sub("dag")
        tasks = dag.each("tasks")
        for task in tasks:
            scope.workflow.names.give(task.text("name", "task"))
        dag.rest({"target": "is not carried over: all tasks run", "failFast": "is not carried over"})
        made = {task.text("name", "task"): self._call(scope, task, []) for task in tasks}
        for task in tasks:
            self._depends(scope, task, made)

    def _depends(self, scope: Scope, task: Fields, made: Mapping[str, Step]) -> None:
        """Reads the tasks that a task waits for, and the states in which they must have ended."""
        native = made[task.text("name", "task")]
        needs = [str(one) for one in task.listed("dependencies")]
        words, plain = [], True
        for found in _DEPENDS.finditer(task.text("depends")):
            if found["name"] is not None:
                needs.append(found["name"])
                step = scope.workflow.names.give(found["name"])
                state = found["state"]
                plain &= state in (None, "Succeeded")
                words.append(f"{of_step(step, 'status')} {_STATES.get(state or '', 'in [' + _DONE + ']')}")
                if state in ("Failed", "Errored") and found["name"] in made:
                    made[found["name"]].setdefault("on_failure", "continue")
            elif found["op"] is not None:
                plain &= found["op"] in ("&&", "(", ")")
                words.append({"&&": " and ", "||": " or ", "!": "not "}.get(found["op"], found["op"]))
        for one in needs:
            if one not in made:
                task.notes.mistake(
                    (*task.path, task.first_of("dependencies", "depends")), f"there is no task `{one}`"
                )
        known = list(dict.fromkeys(scope.workflow.names.give(one) for one in needs if one in made))
        if known:
            native["needs"] = known
        if not plain:
            own = native.get("when")
            text = "".join(words)
            both = f"({text}) and ({own})" if own else text
            native["when"] = ForeignText(both, task.text("depends"), (*task.path, "depends"))

    # -- calls

    def _call(self, scope: Scope, call: Fields, needs: list[str]) -> Step:
        """Adds the step of a call of a template, with its fan-out and its condition."""
        name = scope.workflow.names.give(call.text("name", "step"))
        given = self._arguments(scope, call)
        native = self._called_step(scope, call, name, given)
        native["needs"] = needs
        if not needs:
            del native["needs"]
        native.update(self._fan_out(scope, call))
        if "when" in call:
            native["when"] = scope.condition(call.text("when"), (*call.path, "when"))
        goes_on = call.sub("continueOn")
        if goes_on.flag("failed", default=False) or goes_on.flag("error", default=False):
            native["on_failure"] = "continue"
        goes_on.rest()
        call.ignore("depends", "dependencies", *_CALL)
        call.rest({"hooks": "is not carried over", "onExit": "is not carried over"})
        return native

    def _called_step(self, scope: Scope, call: Fields, name: str, given: dict[str, Any]) -> Step:
        template = call.sub("inline") if "inline" in call else self.templates.get(call.text("template"))
        if "templateRef" in call:
            ref = call.sub("templateRef")
            child = workflow_name(f"{ref.text('name')}-{ref.text('template')}")
            call.note("changed", "templateRef", f"starts the workflow `{child}`: store it under this name")
            native = self._child(scope, call, name, child, given)
            native["retry"] = policy_fields(FOREIGN)
            return native
        if template is None:
            call.notes.mistake((*call.path, "template"), f"there is no template `{call.text('template')}`")
            return {"step": name}
        if kind_of(template) in ("steps", "dag"):
            title = template.text("name") or name
            child = workflow_name(f"{self.name}-{title}")
            if title in self.templates:
                child = self._workflow(child, title).name
            native = self._child(scope, call, name, child, given)
            self._retry(native, template)
            return native
        filled = {**_defaults(template), **given}
        own = Scope(scope.workflow, filled, are_inputs=False)
        fresh = Fields(template.notes, template.path, template.data)
        native = add_leaf(own, name, fresh)
        self._retry(native, fresh)
        return native

    def _child(self, scope: Scope, call: Fields, name: str, child: str, given: dict[str, Any]) -> Step:
        native = scope.workflow.add(name, "workflow", call, workflow=child, input=given)
        native["timeout"] = duration(NO_LIMIT)
        return native

    def _arguments(self, scope: Scope, call: Fields) -> dict[str, Any]:
        arguments = call.sub("arguments")
        found: dict[str, Any] = {}
        for one in arguments.each("parameters"):
            value = one.take("value", "")
            text = value if isinstance(value, str) else one.text("value")
            found[one.text("name")] = scope.value(text, (*one.path, "value"))
            one.rest({"valueFrom": "is not carried over"})
        arguments.rest({"artifacts": "is not carried over: pass references to files as parameters"})
        return found

    def _fan_out(self, scope: Scope, call: Fields) -> Step:
        if "withItems" in call:
            each: Any = literal(call.listed("withItems"))
            if isinstance(call.data["withItems"], str):
                each = scope.value(call.data["withItems"], (*call.path, "withItems"))
        elif "withParam" in call:
            each = scope.value(call.text("withParam"), (*call.path, "withParam"))
        elif "withSequence" in call:
            each = self._sequence(call.sub("withSequence"))
        else:
            return {}
        limit = as_number(self.spec.take("parallelism"))
        return {"for_each": each, "parallelism": int(limit) if limit else _PARALLEL}

    def _sequence(self, sequence: Fields) -> list[Any]:
        start = sequence.whole("start", 0)
        end = sequence.whole("end", start + sequence.whole("count", 1) - 1)
        pattern = sequence.text("format")
        sequence.rest()
        step = 1 if end >= start else -1
        if abs(end - start) >= _MOST_ITEMS:
            sequence.notes.mistake(sequence.path, f"a fan-out in a file has at most {_MOST_ITEMS:,} items")
            return []
        numbers = range(start, end + step, step)
        if not re.fullmatch(r"[^%]*%0?\d*[dxX][^%]*", pattern):
            return list(numbers)
        return [pattern % number for number in numbers]

    # -- retries

    def _retry(self, native: Step, template: Fields) -> None:
        """Gives a step the policy of its template, or of the defaults of all templates."""
        holder, key = template, "retryStrategy"
        if key not in template:
            shared = self.spec.sub("templateDefaults")
            holder = shared if key in shared else self.spec
        if key not in holder:
            if native["type"] not in ("sleep", "wait"):
                set_retry(native, FOREIGN, template)
            return
        policy: Policy = read_retry(holder.sub(key), {**self.defaults, **_defaults(template)})
        set_retry(native, policy, template, key if holder is template else None)


_DONE = "'completed', 'skipped'"


def _defaults(template: Fields) -> dict[str, Any]:
    """Returns the default values of the parameters of a template."""
    inputs = template.data.get("inputs")
    listed = inputs.get("parameters") if isinstance(inputs, dict) else None
    found = {
        str(one.get("name")): one.get("value", one.get("default"))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict)
    }
    return {name: value for name, value in found.items() if value is not None and "{{" not in str(value)}


def _calls(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the calls of a template."""
    dag = data.get("dag")
    rows = (data.get("steps"), dag.get("tasks") if isinstance(dag, dict) else None)
    for row in (row for listed in rows if isinstance(listed, list) for row in listed):
        for one in row if isinstance(row, list) else [row]:
            if isinstance(one, dict):
                yield one
