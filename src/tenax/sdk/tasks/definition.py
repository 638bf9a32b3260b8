"""Writes the definition of a task that is submitted on its own: a workflow with one step, `run`."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from inspect import Parameter
from pathlib import Path
from typing import Any

from tenax.codec import CallSignature
from tenax.sdk.tasks.options import TaskOptions

STEP = "run"
ITEMS = "items"
"""The input with the arguments of all calls of `map`."""
ARGUMENTS = "args"
"""The input with all arguments, if the function does not allow to give each by its name."""
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 200  # characters of a workflow's name


def single_definition(name: str, signature: CallSignature, options: TaskOptions) -> str:
    """Returns the definition of one call. Every argument is an input."""
    if not signature.by_name:
        inputs: dict[str, Any] = {ARGUMENTS: {"type": "array", "required": True}}
        return _written(name, inputs, {"args": f"{{{{ input.{ARGUMENTS} }}}}", **options.step_keys()})
    inputs = {
        parameter.name: {"required": True} if parameter.default is Parameter.empty else {}
        for parameter in signature.signature.parameters.values()
    }
    return _written(name, inputs, {**({"args": "{{ input }}"} if inputs else {}), **options.step_keys()})


def mapped_definition(name: str, options: TaskOptions, parallelism: int) -> str:
    """Returns the definition of a fan-out with one item for each call."""
    fan_out = {"args": "{{ item }}", "for_each": f"{{{{ input.{ITEMS} }}}}", "parallelism": parallelism}
    return _written(name, {ITEMS: {"type": "array", "required": True}}, {**fan_out, **options.step_keys()})


def single_input(arguments: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """Returns the input of an execution of `single_definition`."""
    return arguments if isinstance(arguments, dict) else {ARGUMENTS: arguments}


def workflow_name(task: str) -> str:
    """Returns the name of the workflow of a task: `shop.tasks.charge` for `shop.tasks:charge`."""
    return _OTHER.sub("-", task.replace(":", ".")).lstrip("-.")[:_LONGEST] or "task"


@lru_cache(maxsize=1000)
def folder_of_module(module_name: str) -> str | None:
    """Returns the folder in which the import of a module starts. Returns None for the main script, which cannot be imported."""
    module = sys.modules.get(module_name)
    file = getattr(module, "__file__", None)
    if file is None or module_name == "__main__" or "@" in module_name:
        return None
    depth = module_name.count(".") + hasattr(module, "__path__")
    return str(Path(file).resolve().parents[depth])


def _written(name: str, inputs: dict[str, Any], step: dict[str, Any]) -> str:
    """Returns the text of a definition. The same task always has the same text, by which servers know its definition."""
    import yaml

    run = {"step": STEP, "type": "python", "task": name, **step}
    content = {"name": workflow_name(name), **({"input": inputs} if inputs else {}), "workflow": [run]}
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000))
