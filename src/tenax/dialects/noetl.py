"""Reads the playbooks of NoETL: `workload`, and `workflow` with steps, whose shape the workflow file follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tenax.dialects.native.names import file_title, member, of_input, of_step, task_name, workflow_name
from tenax.dialects.native.policy import duration
from tenax.dialects.native.templates import (
    condition,
    literal_text,
    rewrite_expression,
    rewrite_text,
    rewrite_value,
)
from tenax.dialects.native.transitions import Edge, Ways, place_steps
from tenax.dialects.native.workflow import NO_LIMIT, ForeignText, NativeWorkflow, Step, set_retry
from tenax.dialects.noetl_next import targets_of
from tenax.dialects.noetl_retry import read_retry
from tenax.dialects.noetl_rules import has_rules, read_rules
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.model.source.findings import Path

SIGNS = Signs(
    api=("noetl.io/",),
    kinds=("Playbook",),
    top={"workload": 3, "workbook": 3, "workflow": 2},
    part={"retry": 0, "initial_delay": 3, "backoff_multiplier": 3, "retry_when": 3, "stop_when": 3, "step": 1, "tool": 2, "endpoint": 1, "desc": 1},
    lists=("workflow", "workbook"),
)  # fmt: skip
_RUN = """
import inspect, json, os, sys
_given = json.load(sys.stdin)
_names = inspect.signature(main).parameters
_all = any(one.kind is one.VAR_KEYWORD for one in _names.values())
_result = main(**{name: value for name, value in _given.items() if _all or name in _names})
json.dump(_result, open(os.environ["TENAX_RESULT_FILE"], "w"))
"""
"""Calls the function of a Python tool, as NoETL does."""
_HTTP_KEYS = ("method", "endpoint", "url", "headers", "params", "payload", "data", "body")
_STEP = {
    "save": "is not carried over: a step writes its result nowhere else",
    "sink": "is not carried over: a step writes its result nowhere else",
    "auth": "is not carried over: put `{{ secret.NAME }}` into the headers",
    "credential": "is not carried over: put `{{ secret.NAME }}` into the headers",
    "case": "is not carried over: conditions on events have no counterpart",
    "vars": "is not carried over: read the results of steps instead",
    "output": "is not carried over: the result of a step is what its tool gives",
    "set": "is not carried over: read the results of steps instead",
    "spec": "is not carried over",
}


def translate(top: Fields) -> list[NativeWorkflow]:
    """Returns the workflow of a playbook. A `retry` alone is a playbook of one step."""
    meta = top.sub("metadata")
    name = (
        meta.text("name")
        or top.text("name")
        or meta.text("path")
        or file_title(top.notes.source.filename, "playbook")
    )
    workflow = NativeWorkflow(workflow_name(name), top.notes)
    workflow.description = meta.text("description") or meta.text("desc") or None
    workflow.version = meta.text("version") or None
    meta.ignore("path", "labels", "tags", "annotations", "resource_version")
    meta.rest()
    for key, value in top.mapping("workload").items():
        workflow.declare(key, **({} if value is None else {"default": value}))
    if workflow.inputs:
        top.note(
            "understood", "workload", f"its values are the defaults of inputs: {', '.join(workflow.inputs)}"
        )
    book = {one.text("name"): one for one in top.each("workbook")} if "workbook" in top else {}
    steps = top.each("workflow") if "workflow" in top else [top]
    _Playbook(workflow, steps, book).translate()
    top.ignore("apiVersion", "kind", "path")
    if steps != [top]:
        top.rest(
            {"executor": "is not carried over", "keychain": "is not carried over: secrets belong to workers"}
        )
    return [workflow]


class _Playbook:
    """Translates the steps of one playbook."""

    def __init__(self, workflow: NativeWorkflow, steps: list[Fields], book: dict[str, Fields]) -> None:
        self.workflow = workflow
        self.steps = {one.text("step") or one.text("name", "step"): one for one in steps}
        self.book = book
        self.kinds: dict[str, str] = {}
        self.element: str | None = None
        self.ways = Ways()

    def translate(self) -> None:
        for name in self.steps:
            self.workflow.names.give(name)
        routers = {name for name, step in self.steps.items() if self._is_router(step)}
        self.kinds = {name: self._kind(step) for name, step in self.steps.items()}
        self._find_edges()
        made: dict[str, Step] = {}
        for name, step in self.steps.items():
            if name in routers:
                step.note("understood", None, "does no work: the steps after it start at once")
                step.ignore("step", "desc", "type", "tool", "next")
                step.rest(_STEP)
            else:
                made[name] = self._step(name, step)
        place_steps(self.workflow, made, {name: self._incoming(name, routers) for name in made})

    def _find_edges(self) -> None:
        for name, step in self.steps.items():
            for target, when, path in self._next(step):
                if target in self.steps:
                    self._add_edge(name, target, when, path)
                elif target != "end":
                    self.workflow.notes.add(
                        "dropped", path, f"`next` names `{target}`, and there is no such step in the file"
                    )

    def _add_edge(self, name: str, target: str, when: str | None, path: Path) -> None:
        words = None if when is None else rewrite_expression(condition(when), self.rewrite)
        if not self.ways.add(target, Edge(name, "completed", words, path, when or "")):
            sentence = f"leads back to `{target}`: a workflow has no loops; use `until`"
            self.workflow.notes.add("dropped", path, sentence)

    def _is_router(self, step: Fields) -> bool:
        return not self._kind(step) and "retry" not in step

    def _kind(self, step: Fields) -> str:
        """Returns the tool of a step. Each generation of playbooks names it in another way."""
        if step.data.get("type") == "iterator" and isinstance(step.data.get("task"), dict):
            return str(step.data["task"].get("type") or "")
        if step.data.get("type") == "workbook":
            action = self.book.get(str(step.data.get("name") or step.data.get("task") or ""))
            return "workbook" if action is None else self._kind(action)
        tool = step.data.get("tool")
        if isinstance(tool, dict):
            return str(tool.get("kind") or "")
        if isinstance(tool, list):
            first = next((one for one in tool if isinstance(one, dict)), {})
            return str(first.get("kind") or "")
        return str(tool or step.data.get("type") or step.data.get("call") or "")

    def _next(self, step: Fields) -> list[tuple[str, str | None, Path]]:
        """Returns the steps that follow, each with its condition and its place."""
        listed = step.data.get("next")
        path: Path = (*step.path, "next")
        step.ignore("next")
        if isinstance(listed, dict) and isinstance(listed.get("arcs"), list):
            arcs = Fields(step.notes, path, listed)
            arcs.sub("spec").rest()
            arcs.ignore("arcs")
            arcs.rest()
            listed, path = listed["arcs"], (*path, "arcs")
        found: list[tuple[str, str | None, Path]] = []
        entries = listed if isinstance(listed, list) else [] if listed is None else [listed]
        earlier: list[str] = []
        for index, one in enumerate(entries):
            place = (*path, index) if isinstance(listed, list) else path
            is_else = isinstance(one, dict) and "else" in one and "when" not in one
            otherwise = " and ".join(f"not ({when})" for when in earlier) if is_else else None
            found += targets_of(one, otherwise or None, step, place)
            if isinstance(one, dict) and one.get("when") is not None:
                earlier.append(condition(str(one["when"])))
        return found

    def _step(self, name: str, step: Fields) -> Step:
        native = self._add(name, step)
        if "when" in step:
            native["when"] = ForeignText(
                self.expression(step.text("when")), step.text("when"), (*step.path, "when")
            )
        native.setdefault("timeout", duration(NO_LIMIT))
        retry = self._retry_fields(step)
        policy = read_rules(retry) if "retry" not in retry and has_rules(retry) else read_retry(retry)
        set_retry(native, policy, step, "retry" if "retry" in step else None)
        step.ignore("step", "name", "desc", "description", "type", "tool")
        if step.path:
            step.rest(_STEP)
        return native

    def _retry_fields(self, step: Fields) -> Fields:
        """Returns the mapping that holds `retry`: the step, its tool, or the policy of its tool."""
        tool = step.data.get("tool")
        if "retry" not in step and isinstance(tool, dict):
            return step.sub("tool")
        if "retry" not in step and isinstance(tool, list) and (tools := step.each("tool")):
            return tools[0]
        return step

    def _incoming(self, name: str, routers: set[str]) -> list[Edge]:
        """Returns the edges to a step. A step that does no work is replaced by the edges that lead to it."""
        found: list[Edge] = []
        pending = list(self.ways.into.get(name, []))
        while pending:
            edge = pending.pop(0)
            if edge.source not in routers:
                found.append(edge)
                continue
            if not self.ways.into.get(edge.source):
                found.append(replace(edge, source=""))
            for before in self.ways.into.get(edge.source, []):
                both = " and ".join(f"({when})" for when in (before.when, edge.when) if when)
                pending.append(replace(before, when=both or None, original=before.original or edge.original))
        return found

    # -- the work

    def _add(self, name: str, step: Fields) -> Step:
        each = self._loop(step)
        kind = self.kinds[name]
        body = self._body(step)
        own = self.workflow.names.give(name)
        if kind == "http":
            native = self._http(own, step, body)
        elif kind in ("python", "shell", "container") and (
            "code" in body or "command" in body or "cmds" in body
        ):
            native = self._process(own, step, body, kind)
        elif kind in ("playbook", "playbooks"):
            child = workflow_name((body.text("path") or body.text("name") or own).replace("/", "."))
            body.note(
                "changed",
                body.first_of("path", "name"),
                f"starts the workflow `{child}`: store it under this name",
            )
            inputs = self.value(body.take(body.first_of("args", "input", "data"), {}), (*body.path, "args"))
            native = self.workflow.add(own, "workflow", step, workflow=child, input=inputs)
            native["timeout"] = duration(NO_LIMIT)
        else:
            native = self._task(own, step, body, kind)
        native.update(each)
        self.element = None
        if body is not step:
            body.rest(_STEP)
        return native

    def _body(self, step: Fields) -> Fields:
        """Returns the mapping that says what a step does: the step, its tool, its task, or an action of the workbook."""
        tool = step.data.get("tool")
        if isinstance(tool, dict):
            body = step.sub("tool")
            body.ignore("kind", "retry", *(["spec"] if has_rules(body) else []))
            return body
        if isinstance(tool, list) and (tools := step.each("tool")):
            for other in tools[1:]:
                other.note("dropped", None, "a step runs one tool: only the first is carried over")
            tools[0].ignore("kind", "name", "retry", *(["spec"] if has_rules(tools[0]) else []))
            return tools[0]
        if step.data.get("type") == "iterator" and isinstance(step.data.get("task"), dict):
            body = step.sub("task")
            body.ignore("type", "name")
            return body
        action = self.book.get(str(step.data.get("name") or step.data.get("task") or ""))
        if step.data.get("type") == "workbook" and action is not None:
            action.ignore("type", "name", "tool")
            step.ignore("task")
            return action
        return step

    def _loop(self, step: Fields) -> Step:
        """Reads the loop of a step, in the forms of all generations of playbooks."""
        if "loop" in step:
            loop = step.sub("loop")
            source, self.element = (
                loop.text(loop.first_of("in", "collection")),
                loop.text(loop.first_of("iterator", "element"), "item"),
            )
            spec = loop.sub("spec")
            mode = loop.text("mode") or spec.text("mode", "sequential")
            limit = spec.whole("max_in_flight", 10)
            spec.rest()
            loop.rest()
        elif step.data.get("type") == "iterator":
            source, self.element = step.text("collection"), step.text("element", "item")
            mode, limit = step.text("mode", "sequential"), step.whole("concurrency", 10)
        else:
            return {}
        each = rewrite_text(source, self.rewrite, (*step.path, "loop"))
        return {"for_each": each, "parallelism": limit if mode in ("parallel", "async") else 1}

    def _http(self, name: str, step: Fields, body: Fields) -> Step:
        keys: dict[str, Any] = {
            key: self.value(body.take(key), (*body.path, key))
            for key in ("method", "headers", "params")
            if key in body
        }
        keys["url"] = self.value(
            body.text(body.first_of("url", "endpoint")), (*body.path, body.first_of("url", "endpoint"))
        )
        given = body.first_of("payload", "data", "body")
        sent = self.value(body.take(given), (*body.path, given))
        is_get = str(body.data.get("method", "GET")).upper() == "GET"
        if isinstance(sent, dict) and is_get and given == "data":
            keys["params"] = {**sent, **keys.get("params", {})}
        elif isinstance(sent, dict | list):
            keys["json"] = sent
        elif sent is not None:
            keys["body"] = sent
        if "timeout" in body:
            keys["timeout"] = duration(body.seconds("timeout"))
        return self.workflow.add(name, "http", step, **keys)

    def _process(self, name: str, step: Fields, body: Fields, kind: str) -> Step:
        given = body.first_of("args", "input", "data")
        args = self.value(body.take(given, {}), (*body.path, given))
        key = body.first_of("code", "command", "cmds")
        written = "\n".join(map(str, body.listed(key)))
        if kind == "python":
            code = self.value(written, (*body.path, key))
            if isinstance(code, ForeignText):
                code = ForeignText(code + _RUN, code.original, code.origin)
            command = ["python3", "-c", code if isinstance(code, ForeignText) else literal_text(code) + _RUN]
            body.note(
                "changed", key, "the function `main` runs as a process of its own; its arguments are `params`"
            )
        else:
            command = ["sh", "-c", self.value(written, (*body.path, key))]
        body.ignore("libs", "method")
        return self.workflow.add(name, "process", step, command=command, params=args or {})

    def _task(self, name: str, step: Fields, body: Fields, kind: str) -> Step:
        task = task_name(f"noetl.{kind}" if kind else name)
        known = (
            "step",
            "type",
            "tool",
            "next",
            "retry",
            "desc",
            "when",
            "loop",
            "name",
            "kind",
            "collection",
            "element",
            "task",
        )
        args = {
            key: self.value(body.take(key), (*body.path, key))
            for key in list(body.data)
            if key not in (*known, *_STEP)
        }
        if isinstance(args.get("args"), dict):
            args = {**args.pop("args"), **args}
        what = f"the tool `{kind}` has no counterpart" if kind else "the step names no tool"
        step.note("dropped", None, f"{what}: register a Python task as `{task}`")
        return self.workflow.add(name, "python", step, task=task, args=args)

    # -- templates

    def value(self, value: Any, path: Path) -> Any:
        return rewrite_value(value, self.rewrite, path)

    def expression(self, text: str) -> str:
        made = rewrite_text("{{ " + condition(text) + " }}", self.rewrite, ())
        return condition(made)

    def rewrite(self, parts: tuple[str, ...]) -> str | None:
        """Translates the name of a variable. NoETL reaches the results of steps by the names of the steps."""
        root, *below = parts
        if root == "workload" and below:
            self.workflow.declare(below[0], required=True)
            return _path(of_input(below[0]), below[1:])
        if root == self.element:
            return _path("item", below)
        if root in self.steps:
            return _path(of_step(self.workflow.names.give(root)), self._result(root, below))
        if root in ("job", "execution_id") and below[:1] in (["uuid"], ["id"], []):
            return "execution_id"
        return None

    def _result(self, step: str, below: list[str]) -> list[str]:
        """Returns the path within a result. NoETL puts the data of a tool into `data` or `result`."""
        if below[:1] in (["data"], ["result"], ["response"]):
            rest = below[2:] if below[1:2] == ["data"] else below[1:]
            return ["data", *rest] if self.kinds[step] == "http" else rest
        return below


def _path(base: str, below: list[str]) -> str:
    for key in below:
        base = member(base, int(key) if key.isdecimal() else key)
    return base
