"""Collects the files that are sent with a definition: the files that its steps name by `file:`, and the files that those name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tenax.errors import InvalidDefinition, UsageError
from tenax.model.definition.children import ChildReference, child_references
from tenax.model.parse.parse import Draft, draft_workflow
from tenax.model.wire import Submission
from tenax.sdk.files import DefinitionFile, decode_text, read_bytes

MAX_FILES = 1000  # files below one definition  # files below one definition


def submission_of(
    definition: DefinitionFile,
    *,
    input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
    key: str | None = None,
) -> Submission:
    """Returns the submission of a workflow file, with the files of its children."""
    return Submission(
        source=definition.text,
        filename=definition.filename,
        input=dict(input or {}),
        key=key,
        base_dir=definition.folder,
        files=bundle(definition),
    )


def bundle(definition: DefinitionFile) -> dict[str, str]:
    """Returns the texts of the files, by their paths from the folder of the definition.

    Returns an empty dict if the definition itself is invalid. The server that checks it reports the errors.
    """
    try:
        draft = draft_workflow(definition.text, filename=definition.filename)
        draft.accept()
    except InvalidDefinition:
        return {}
    gathering = _Gathering(definition)
    gathering.open(posixpath.basename(definition.filename), draft)
    gathering.finish()
    return gathering.files


def shown_path(filename: str, key: str) -> str:
    """Returns the path of a file of the bundle, relative to the same folder as the definition's `filename`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(filename), key))


@dataclass(frozen=True, slots=True)
class _Opened:
    """Holds a file whose references are being followed."""

    key: str
    draft: Draft
    references: Iterator[ChildReference]

    def refuse(self, reference: ChildReference, message: str) -> NoReturn:
        """Raises `InvalidDefinition` at the line of the reference."""
        names = [step.name for step in self.draft.workflow.steps]
        path = self.draft.paths[names.index(reference.step)]
        self.draft.findings.add((*path, "file"), message)
        self.draft.findings.raise_if_any()
        raise AssertionError("unreachable: `refuse` raises if there is a finding")


class _Gathering:
    """Gathers the files from the definition down, without recursion, since the references may be deep."""

    def __init__(self, definition: DefinitionFile) -> None:
        self._filename = definition.filename
        self._folder = Path(definition.folder)
        self._chain: list[_Opened] = []
        self.files: dict[str, str] = {}

    def open(self, key: str, draft: Draft) -> None:
        named = (one for one in child_references(draft.workflow) if one.kind == "file")
        self._chain.append(_Opened(key, draft, named))

    def finish(self) -> None:
        while self._chain:
            reference = next(self._chain[-1].references, None)
            if reference is None:
                self._chain.pop()
            else:
                self._follow(self._chain[-1], reference)

    def _follow(self, opened: _Opened, reference: ChildReference) -> None:
        key = posixpath.normpath(posixpath.join(posixpath.dirname(opened.key), reference.text))
        above = [one.key for one in self._chain]
        if key in above:
            circle = " -> ".join([*above[above.index(key) :], key])
            opened.refuse(reference, f"the files start each other in a circle: {circle}")
        if key in self.files:
            return
        if len(self.files) >= MAX_FILES:
            opened.refuse(reference, f"a definition has at most {MAX_FILES:,} files below it")
        shown = shown_path(self._filename, key)
        try:
            text = decode_text(read_bytes(str(self._folder / key)), shown)
        except UsageError as error:
            opened.refuse(reference, error.message.replace(str(self._folder / key), shown))
        draft = draft_workflow(text, filename=shown)
        draft.accept()
        self.files[key] = text
        self.open(key, draft)
