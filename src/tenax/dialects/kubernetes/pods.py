"""Reads the containers of pods, for Jobs and for Argo. The command becomes a process, and the rest of the pod is reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tenax.dialects.native.templates import literal_text
from tenax.dialects.reading.fields import Fields

Value = Callable[[str, tuple[str | int, ...]], Any]
"""Translates the templates of a text at a path."""

_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\$\$")
_CONTAINER = {
    "resources": "is not carried over: a worker does not limit memory or processors",
    "volumeMounts": "is not carried over: the process sees the files of its worker",
    "livenessProbe": "is not carried over",
    "readinessProbe": "is not carried over",
    "lifecycle": "is not carried over",
    "securityContext": "is not carried over: the process runs as its worker does",
    "envFrom": "is not carried over: name each variable in `env`",
    "ports": "is not carried over",
}


def literal_value(text: str, _path: tuple[str | int, ...]) -> Any:
    """Returns a text in which nothing is a template."""
    return literal_text(text)


def read_container(container: Fields, value: Value = literal_value) -> dict[str, Any]:
    """Returns the keys of a process step: `command`, `env` and `cwd`."""
    env = _environment(container, value)
    image = container.text("image")
    words = [*container.listed("command"), *container.listed("args")]
    if image:
        why = "a process runs with the programs of its worker"
        container.note("dropped", "image", f"the image `{image}` is not carried over: {why}")
    if "command" not in container:
        command: Any = _unknown_command(container, image)
    else:
        count = len(container.listed("command"))
        places = [("command", i) if i < count else ("args", i - count) for i in range(len(words))]
        command = [
            _word(str(word), env, container, place, value) for word, place in zip(words, places, strict=True)
        ]
    cwd = container.text("workingDir") or None
    container.ignore(
        "name", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "tty", "stdin"
    )
    container.rest(_CONTAINER)
    return {"command": command, "env": env, "cwd": cwd}


def _unknown_command(container: Fields, image: str) -> list[str]:
    """Returns a command that says what is missing. The file does not contain the default command of an image."""
    words = " ".join(map(str, container.listed("args")))
    sentence = f"what the image runs by itself is not in the file: write the command of the step ({words})"
    container.note("dropped", "args" if "args" in container else None, sentence)
    message = f"import: write here what the image {image} runs {words}".strip()
    return ["sh", "-c", 'echo "$0" >&2; exit 78', literal_text(message)]


def _word(word: str, env: dict[str, Any], container: Fields, place: tuple[str, int], value: Value) -> Any:
    """Returns one argument. `$(NAME)` is replaced as Kubernetes does it, by a variable that the file sets."""
    path = (*container.path, *place)

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "$"
        if name not in env:
            return found[0]
        return str(getattr(env[name], "original", env[name]))

    return value(_VARIABLE.sub(replaced, word) if "$" in word else word, path)


def _environment(container: Fields, value: Value) -> dict[str, Any]:
    env: dict[str, Any] = {}
    for one in container.each("env"):
        name = one.text("name")
        if "valueFrom" not in one:
            env[name] = value(one.text("value"), (*one.path, "value"))
        elif "secretKeyRef" in (source := one.sub("valueFrom")):
            source.note(
                "changed", "secretKeyRef", f"the worker gives it as its secret TENAX_SECRET_{name.upper()}"
            )
            env[name] = f"{{{{ secret.{name} }}}}"
        elif name == "JOB_COMPLETION_INDEX" or "job-completion-index" in str(source.data):
            env[name] = "{{ index }}"
            source.note("understood", None, "the index of the pod is `index`")
        else:
            source.note("dropped", None, f"the variable {name} is not carried over: set it in `env`")
            source.ignore(*source.data)
        if "valueFrom" in one and "secretKeyRef" in source:
            source.rest()
        one.rest()
    return env


POD = {
    "volumes": "is not carried over: the process sees the files of its worker",
    "initContainers": "is not carried over: add steps before it",
    "serviceAccountName": "is not carried over",
    "serviceAccount": "is not carried over",
    "nodeSelector": "is not carried over: give the step `labels`",
    "affinity": "is not carried over: give the step `labels`",
    "tolerations": "is not carried over: give the step a `queue`",
    "imagePullSecrets": "is not carried over",
    "securityContext": "is not carried over: the process runs as its worker does",
    "hostNetwork": "is not carried over",
    "priorityClassName": "is not carried over: give the step a `priority`",
    "terminationGracePeriodSeconds": "is not carried over",
}
"""Why parts of a pod have no counterpart."""
