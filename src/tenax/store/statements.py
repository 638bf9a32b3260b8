"""Loads the statements by name. Each is a file under `sql/queries`, in the folder of the module of `store` that runs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

_INCLUDED = re.compile(r"\{([a-z_]+)\}")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


@cache
def _files() -> dict[str, Traversable]:
    """Returns the file of each statement by its name."""
    folders = files("tenax").joinpath("sql", "queries").iterdir()
    return {file.name.removesuffix(".sql"): file for folder in folders for file in folder.iterdir()}


@cache
def sql(name: str) -> str:
    """Returns a statement whose parameters have numbers ($1, $2, ...). A name in braces stands for the text of that file."""
    text = _files()[name].read_text("utf-8")
    return _INCLUDED.sub(lambda found: _without_comments(sql(found[1])), text)


def _without_comments(text: str) -> str:
    return "\n".join(line.partition("--")[0].rstrip() for line in text.splitlines()).strip()


class NamedStatement(NamedTuple):
    """A statement whose parameters have names (`:now`): as PostgreSQL takes it, and the names in the order of their numbers."""

    text: str
    names: tuple[str, ...]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        return [values[name] for name in self.names]


@cache
def named(name: str) -> NamedStatement:
    """Reads a statement whose parameters have names."""
    source = _without_comments(sql(name))
    names = tuple(dict.fromkeys(_PARAMETER.findall(source)))
    numbers = {parameter: number for number, parameter in enumerate(names, 1)}
    return NamedStatement(_PARAMETER.sub(lambda found: f"${numbers[found[1]]}", source), names)
