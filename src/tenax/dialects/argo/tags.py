"""Translates the tags of Argo (`{{inputs.parameters.x}}`), and its conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenax.dialects.native.names import member, of_input, of_step
from tenax.dialects.native.templates import literal_text
from tenax.dialects.native.workflow import ForeignText, NativeWorkflow
from tenax.model.source.findings import Path

TAG = re.compile(r"\{\{(=?)(.*?)\}\}", re.DOTALL)
_WHEN = re.compile(
    r"""(?P<space>\s+)|(?P<tag>(?P<quote>['"]?)\{\{=?(?P<inner>.*?)\}\}(?P=quote))|(?P<text>'[^']*'|"[^"]*")"""
    r"""|(?P<op>==|!=|<=|>=|&&|\|\||[<>!()])|(?P<number>-?\d+(?:\.\d+)?(?![\w.-]))|(?P<word>[^\s=!<>&|()'"{}]+)|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_OPERATORS = {"&&": "and", "||": "or", "!": "not"}
_STATES = {
    "Succeeded": "completed",
    "Failed": "failed",
    "Error": "failed",
    "Skipped": "skipped",
    "Omitted": "skipped",
}


@dataclass
class Scope:
    """Resolves the tags of one template: its parameters, and the names of its steps."""

    workflow: NativeWorkflow
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that the caller of a leaf template passes, already translated. Without a caller they are inputs."""
    are_inputs: bool = True

    def value(self, text: str, origin: Path) -> Any:
        """Translates the tags of a text. A text without tags stays as it is."""
        if "{{" not in text:
            return literal_text(text)
        made = TAG.sub(lambda found: self._replaced(found, origin), text)
        return ForeignText(made, text, origin)

    def _replaced(self, found: re.Match[str], origin: Path) -> str:
        """Returns the translation of a tag: a literal, a template, or an input for a tag without a counterpart."""
        tag = found[2].strip()
        if found[1]:
            return f"{{{{ {self._unknown(found[0], origin)} }}}}"
        given = self._given(tag)
        if given is not None:
            return str(given)
        return f"{{{{ {self.expression(tag) or self._unknown(found[0], origin)} }}}}"

    def _unknown(self, tag: str, origin: Path) -> str:
        return self.workflow.stand_in(ForeignText(tag, tag, origin), "Tenax has no such value")

    def _given(self, tag: str) -> Any:
        name = tag.removeprefix("inputs.parameters.")
        return self.parameters.get(name) if name != tag and not self.are_inputs else None

    def expression(self, tag: str) -> str | None:
        """Returns the expression of a tag, or None if it has none."""
        match tag.split("."):
            case ["workflow", "parameters", *name] if name:
                return self.workflow_parameter(".".join(name))
            case ["inputs", "parameters", *name] if name:
                return self._parameter(".".join(name))
            case ["steps" | "tasks", name, "outputs", "result"]:
                return of_step(self.workflow.names.give(name))
            case ["steps" | "tasks", name, "outputs", "parameters", *output] if output:
                return member(of_step(self.workflow.names.give(name)), ".".join(output))
            case ["steps" | "tasks", name, "status"]:
                return of_step(self.workflow.names.give(name), "status")
            case ["item", *keys]:
                return _path("item", keys)
            case ["workflow", "name" | "uid"]:
                return "execution_id"
            case ["retries"]:
                return "attempt - 1"
            case _:
                return None

    def workflow_parameter(self, name: str) -> str:
        if name not in self.workflow.inputs:
            self.workflow.declare(name, required=True)
        return of_input(name)

    def _parameter(self, name: str) -> str | None:
        if self.are_inputs:
            return self.workflow_parameter(name)
        given = self.parameters.get(name)
        if given is None:
            return None
        text = str(given)
        single = TAG.fullmatch(text)
        return single[2].strip() if single and "}}" not in single[2] else _quoted(text)

    def condition(self, text: str, origin: Path) -> ForeignText:
        """Translates a `when`: a comparison of words, into which the values of tags are put."""
        parts = (self._part(found) for found in _WHEN.finditer(text))
        made = " ".join(part for part in parts if part)
        return ForeignText(made, text, origin)

    def _part(self, found: re.Match[str]) -> str:
        if found["space"] is not None:
            return ""
        if found["tag"] is not None:
            tag = found["inner"].strip()
            return self.expression(tag) or f"({tag})"
        if found["text"] is not None:
            return _quoted(_STATES.get(found["text"][1:-1], found["text"][1:-1]))
        if found["op"] is not None:
            return _OPERATORS.get(found["op"], found["op"])
        if found["number"] is not None:
            return found["number"]
        if found["word"] is not None:
            word = found["word"]
            return word if word in ("true", "false") else _quoted(_STATES.get(word, word))
        return found[0]


def _path(base: str, keys: list[str]) -> str:
    for key in keys:
        base = member(base, int(key) if key.isdecimal() else key)
    return base


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
