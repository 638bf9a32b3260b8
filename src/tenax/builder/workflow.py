"""Builds a workflow in Python, as the text of a workflow file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tenax.builder.files_below import files_below
from tenax.builder.later_values import ValuePath
from tenax.builder.links import with_needs
from tenax.builder.places import PythonLine, at_python_lines, line_of_caller
from tenax.builder.python_calls import Call, TaskLike, step_name
from tenax.builder.steps import Step, python_keys, rendered_keys
from tenax.codec import encode
from tenax.errors import InvalidDefinition, UsageError
from tenax.model.parse.parse import draft_workflow
from tenax.model.parse.workflow_file import DEFAULTS_KEYS, STEPS, WorkflowFile
from tenax.model.source.yaml_text import yaml_text
from tenax.model.wire import Submission
from tenax.policy.check import load_workflow
from tenax.sdk.tasks.application import Application, current_application
from tenax.sdk.tasks.handles import Handle, SyncHandle


@dataclass(frozen=True, slots=True)
class _Declared:
    """Holds the keys of a step, and the line that declared it."""

    data: dict[str, Any]
    line: PythonLine


class Workflow:
    """Is a workflow under construction. `to_yaml()` gives its file.

    The keyword arguments are the keys at the top of a file (`version`, `description`, `input`, `deadline`, `budget`) and
    those of `defaults` (`retry`, `timeout`, `queue`, `queue_ttl`, `priority`). An input is a JSON Schema as in a file, or a type.
    """

    def __init__(self, name: str, /, **keys: Any) -> None:
        self.name = name
        self._line = line_of_caller()
        self._steps: dict[str, _Declared] = {}
        self._children: dict[str, Workflow] = {}
        self._outputs: Mapping[str, Any] = {}
        self._outputs_line: PythonLine | None = None
        self._checked: str | None = None
        self.outputs = keys.pop("outputs", None)
        defaults = {key: keys.pop(key) for key in DEFAULTS_KEYS if key in keys}
        if isinstance(inputs := keys.get("input"), Mapping):
            keys["input"] = {key: _input_schema(value) for key, value in inputs.items()}
        if defaults:
            keys["defaults"] = {**keys.get("defaults", {}), **defaults}
        self._top = rendered_keys({"name": name, **keys}, WorkflowFile, "", self._line)

    # -- values of the running workflow

    @property
    def input(self) -> ValuePath:
        """Returns the inputs of the execution."""
        return ValuePath("input")

    @property
    def item(self) -> ValuePath:
        """Returns the element of `for_each` that a work item is for."""
        return ValuePath("item")

    @property
    def index(self) -> ValuePath:
        """Returns the place of that element in its list, from 0."""
        return ValuePath("index")

    @property
    def previous(self) -> ValuePath:
        """Returns the last result of a step with `until`, and null at first."""
        return ValuePath("previous")

    @property
    def result(self) -> ValuePath:
        """Returns the result that `until` looks at, or that a compensation undoes."""
        return ValuePath("result")

    @property
    def attempt(self) -> ValuePath:
        """Returns the number of the attempt, from 1."""
        return ValuePath("attempt")

    @property
    def execution_id(self) -> ValuePath:
        """Returns the number of the execution."""
        return ValuePath("execution_id")

    @property
    def secret(self) -> ValuePath:
        """Returns the secrets by name. Workers fill them in."""
        return ValuePath("secret")

    @property
    def steps(self) -> ValuePath:
        """Returns the steps by name, also those that are declared later: `steps.pay.failure.reason`."""
        return ValuePath("steps")

    # -- steps

    def step(self, task: TaskLike, /, *arguments: Any, **keys: Any) -> Step:
        """Declares a step that calls a task: a function, or the name of a task that only workers have.

        Arguments of the task and keys of the step (`needs`, `when`, `for_each`, `retry`, `timeout`, ...) stand side by side.
        The step has the name of the function; `step=` gives it another one. With `type=`, the first argument is the name of a
        step of that type, and all others are its keys.
        """
        line = line_of_caller()
        if "type" in keys:
            return self._declare(str(task), keys, line)
        name = str(keys.pop("step", None) or step_name(task))
        call = Call(task, arguments, {}, name, line)
        return self._declare(name, python_keys(STEPS["python"], call, keys), line)

    def http(self, name: str, /, **keys: Any) -> Step:
        """Declares a step that calls a web address: `url=`, `method=`, `headers=`, `params=`, `json=` or `body=`."""
        return self._declare(name, {"type": "http", **keys})

    def process(self, name: str, /, **keys: Any) -> Step:
        """Declares a step that runs a program: `command=`, `env=`, `cwd=`, `params=`."""
        return self._declare(name, {"type": "process", **keys})

    def agent(self, name: str, /, **keys: Any) -> Step:
        """Declares a step that runs an agent: `prompt=`, `command=`, `role=`, `model=`, `tier=`, `budget=`."""
        return self._declare(name, {"type": "agent", **keys})

    def action(self, name: str, /, **keys: Any) -> Step:
        """Declares a step that runs an action of a pack: `action=`, `params=`."""
        return self._declare(name, {"type": "action", **keys})

    def sleep(self, name: str, /, **keys: Any) -> Step:
        """Declares a step that waits for a time: `for_=` or `at=`."""
        return self._declare(name, {"type": "sleep", **keys})

    def wait(self, name: str, /, **keys: Any) -> Step:
        """Declares a step that waits for a signal (`signal=`), or without one for an approval."""
        return self._declare(name, {"type": "wait", **keys})

    def workflow(self, name: str, child: Workflow | str | None = None, /, **keys: Any) -> Step:
        """Declares a step that runs another workflow with `input=`: one that was built here, a stored one, or that of a `file=`."""
        if isinstance(child, Workflow):
            keys["file"] = self._add_child(name, child)
        elif child is not None:
            keys["workflow"] = child
        return self._declare(name, {"type": "workflow", **keys})

    @property
    def outputs(self) -> Mapping[str, Any] | None:
        """Returns the result of the workflow by name. Without it, the result is that of each goal."""
        return self._outputs.get("outputs")

    @outputs.setter
    def outputs(self, values: Mapping[str, Any] | None) -> None:
        self._outputs_line = line_of_caller()
        given = {} if values is None else {"outputs": values}
        self._outputs = rendered_keys(given, WorkflowFile, "", self._outputs_line)
        self._forget_text()

    # -- the file

    def to_yaml(self) -> str:
        """Returns the workflow as a file. Raises `InvalidDefinition` with the Python lines of all mistakes."""
        if self._checked is None:
            self._checked = self._checked_text()
        return self._checked

    def files(self) -> dict[str, str]:
        """Returns the files of the workflows that its steps start, by their paths from the folder of its own file."""
        files: dict[str, str] = {}
        for name, declared in self._steps.items():
            path = declared.data.get("file")
            if isinstance(path, str):
                for each, text in self._files_of(path, name, declared.line).items():
                    if files.setdefault(each, text) != text:
                        message = f"two workflows below this one have the file `{each}`: rename one"
                        raise declared.line.refusal(name, message)
        return files

    def starts(self, other: Workflow) -> bool:
        """Returns whether this workflow is the other one, or has steps that start it."""
        return self is other or any(child.starts(other) for child in self._children.values())

    def submission(
        self,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
        *,
        key: str | None = None,
    ) -> Submission:
        """Returns what `submit` sends, for a client or a transaction of your own. Its tasks are sought beside the Python file too."""
        return Submission(
            source=self.to_yaml(),
            filename=f"{self.name}.yaml",
            input={name: encode(value, what=f"the input {name}") for name, value in (input or {}).items()},
            key=key,
            base_dir=str(self._folder),
            files=self.files(),
        )

    @property
    def _folder(self) -> Path:
        """Returns the folder of the Python file that builds the workflow."""
        return Path(self._line.file).resolve().parent

    async def submit(
        self,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
        *,
        key: str | None = None,
        app: Application | None = None,
    ) -> Handle[Any]:
        """Submits an execution to the application that is open around the call, or to `app`. A `key` starts only one execution."""
        chosen, one = self._admitted(app), self.submission(input, key=key)
        with self._python_lines(one.filename):
            submitted = await chosen.call(lambda client: client.submit(one))
        return Handle(chosen, submitted.id, _as_it_is, created=submitted.created)

    def submit_sync(
        self,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
        *,
        key: str | None = None,
        app: Application | None = None,
    ) -> SyncHandle[Any]:
        """Submits an execution. Blocks until it is recorded."""
        chosen, one = self._admitted(app), self.submission(input, key=key)
        with self._python_lines(one.filename):
            submitted = chosen.call_sync(lambda client: client.submit(one))
        return SyncHandle(chosen, submitted.id, _as_it_is, created=submitted.created)

    def _admitted(self, app: Application | None) -> Application:
        """Returns the application to use. Refuses tasks of the main script if no worker could run them."""
        chosen = current_application(app)
        for declared in self._steps.values():
            for action in (declared.data, declared.data.get("compensate", {})):
                task = str(action.get("task", "")) if isinstance(action, Mapping) else ""
                if task.startswith("__main__:"):
                    chosen.admit(task, "__main__")
        return chosen

    @contextlib.contextmanager
    def _python_lines(self, filename: str | None) -> Iterator[None]:
        """Moves what the server finds in the file to the lines of Python."""
        try:
            yield
        except InvalidDefinition as error:
            if any(finding.file != filename for finding in error.findings):  # it is in the file of a child
                raise
            raise self._at_python_lines(error) from None

    def _declare(self, name: str, keys: Mapping[str, Any], line: PythonLine | None = None) -> Step:
        line = line or line_of_caller()
        if name in self._steps:
            message = f"the name `{name}` is taken by an earlier step: give this one another name (step=...)"
            raise line.refusal(name, message)
        shape = next((shape for kind, shape in STEPS.items() if kind == keys.get("type")), None)
        declared = _Declared(rendered_keys({"step": name, **keys}, shape, name, line), line)
        self._steps[name] = declared
        self._forget_text()
        return Step(declared.data, changed=self._forget_text)

    def _add_child(self, step: str, child: Workflow) -> str:
        """Returns the path of the child's file."""
        if child.starts(self):
            raise line_of_caller().refusal(step, f"the workflows start each other in a circle: `{self.name}`")
        path = f"{child.name}.yaml"
        if self._children.setdefault(path, child) is not child:
            raise line_of_caller().refusal(step, f"two children are named `{child.name}`: rename one")
        return path

    def _forget_text(self) -> None:
        self._checked = None

    def _files_of(self, path: str, step: str, line: PythonLine) -> dict[str, str]:
        """Returns the file of a child, which was built in Python or is on the disk, and the files below it."""
        child = self._children.get(path)
        if child is not None:
            return {path: child.to_yaml(), **child.files()}
        try:
            return files_below(path, self._folder)
        except UsageError as error:
            raise line.refusal(f"{step}.file", error.message) from None

    def _checked_text(self) -> str:
        """Writes the file, lets the reader check it, and moves what it found to the lines of Python."""
        listed = [declared.data for declared in self._steps.values()]
        try:
            text = self._text(with_needs(listed, draft_workflow(self._text(listed))))
            load_workflow(text)
        except InvalidDefinition as error:
            raise self._at_python_lines(error) from None
        return text

    def _text(self, steps: Sequence[Mapping[str, Any]]) -> str:
        return yaml_text({**self._top, **self._outputs, "workflow": steps})

    def _at_python_lines(self, error: InvalidDefinition) -> InvalidDefinition:
        steps = [(name, declared.line) for name, declared in self._steps.items()]
        return at_python_lines(error.findings, self._line, self._outputs_line, steps)


def _as_it_is(result: Any) -> Any:
    return result


def _input_schema(declared: Any) -> Any:
    """Returns the schema of an input. A type of Python becomes one, and the input is then required."""
    if isinstance(declared, Mapping):
        return declared
    schema = TypeAdapter(declared).json_schema()
    if "required" in schema:  # the names of an object's properties, where an input has a boolean
        rest = {key: value for key, value in schema.items() if key != "$defs"}
        schema = {"allOf": [rest], **({"$defs": schema["$defs"]} if "$defs" in schema else {})}
    return {**schema, "required": True}
