"""Loads statements by name. Each is a file under `sql/queries`, in the folder of the `store` module that runs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_INCLUDED = re.compile(r"\{([a-z_]+)\}")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_BORDER = re.compile(r"^(--if \w+|--end)\n", re.MULTILINE)


@cache
def _files() -> dict[str, Traversable]:
    """Returns the file of each statement by its name."""
    folders = files("tenax").joinpath("sql", "queries").iterdir()
    return {file.name.removesuffix(".sql"): file for folder in folders for file in folder.iterdir()}


@cache
def sql(name: str) -> str:
    """Returns a statement whose parameters have numbers ($1, $2, ...). A name in braces includes the
    text of that file."""
    text = _files()[name].read_text("utf-8")
    return _INCLUDED.sub(lambda found: _without_comments(sql(found[1])), text)


def _without_comments(text: str) -> str:
    return "\n".join(line.partition("--")[0].rstrip() for line in text.splitlines()).strip()


class NamedStatement:
    """Is a statement with named parameters (`:now`) and with parts that are sent only if they have something to do.

    A part begins with a line `--if NAME` and ends before the next such line or `--end`. It is left out if the value of that name is empty.
    A part that changes a table would otherwise cost time even if it had nothing to change.
    """

    def __init__(self, source: str) -> None:
        always, *parts = _BORDER.split(source)
        conditions = [border.removeprefix("--if ") if border != "--end" else None for border in parts[::2]]
        texts = [_without_comments(text) for text in (always, *parts[1::2])]
        self._pieces = list(zip([None, *conditions], texts, strict=True))
        self._conditions = tuple(dict.fromkeys(name for name in conditions if name is not None))
        self._forms: dict[tuple[bool, ...], tuple[str, tuple[str, ...]]] = {}

    def fill(self, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """Returns the text with numbered parameters, and the arguments in their order."""
        kept = tuple([bool(values[name]) for name in self._conditions])
        form = self._forms.get(kept)
        if form is None:
            form = self._forms[kept] = self._form(kept)
        text, names = form
        return text, [values[name] for name in names]

    def _form(self, kept: tuple[bool, ...]) -> tuple[str, tuple[str, ...]]:
        is_kept = {None: True, **dict(zip(self._conditions, kept, strict=True))}
        source = "\n".join(text for condition, text in self._pieces if is_kept[condition])
        parameters = tuple(dict.fromkeys(_PARAMETER.findall(source)))
        numbers = {parameter: number for number, parameter in enumerate(parameters, 1)}
        return _PARAMETER.sub(lambda found: f"${numbers[found[1]]}", source), parameters


@cache
def named(name: str) -> NamedStatement:
    """Reads a statement whose parameters have names."""
    return NamedStatement(sql(name))
