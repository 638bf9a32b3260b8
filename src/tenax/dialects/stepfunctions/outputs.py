"""Finds what a state leads to, and what document it hands on."""

from __future__ import annotations

from typing import Any

from tenax.dialects.reading.fields import Fields
from tenax.dialects.stepfunctions.data import Document, Reader, keys_of


def targets_of(state: Fields) -> list[str]:
    """Returns the states that a state can lead to."""
    found = [state.data.get("Next"), state.data.get("Default")]
    for key in ("Choices", "Catch"):
        listed = state.data.get(key)
        found += (
            [one.get("Next") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        )
    return [one for one in found if isinstance(one, str)]


def output_of(state: Fields, result: Document, reader: Reader) -> Document:
    """Returns the output of a state. `ResultSelector`, `ResultPath` and `OutputPath` apply to its result, in this order."""
    if isinstance(state.data.get("ResultSelector"), dict):
        inner = Reader(reader.workflow, result)
        result = inner.selected(state.data["ResultSelector"], (*state.path, "ResultSelector"))
    document = (
        result if state.data.get("Type") == "Wait" else placed(_path_of(state), reader.document, result)
    )
    path = state.data.get("OutputPath")
    if isinstance(path, str) and (keys := keys_of(path)):
        return document.sub(keys, reader.workflow)
    return document


def _path_of(state: Fields) -> Any:
    """Returns the `ResultPath`. Null keeps the input, and an absent one is `$`, which replaces it."""
    return state.data.get("ResultPath", "$")


def placed(path: Any, before: Document, result: Document) -> Document:
    """Puts a result into the input of its state."""
    if path is None:
        return before
    keys = keys_of(str(path))
    return Document() if keys is None else before.with_part(keys, result)
