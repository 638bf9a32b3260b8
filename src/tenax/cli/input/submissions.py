"""Makes a submission from the name of a workflow file, or of a stored workflow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenax.cli.input.inputs import STDIN, read_definition
from tenax.errors import NotFound
from tenax.model.names import is_workflow_name
from tenax.model.wire import Submission

_FILE_ENDINGS = (".yaml", ".yml", ".json")


def submission_for(name: str, given: Mapping[str, Any], key: str | None) -> Submission:
    """Returns the submission of a file, or of the stored workflow `NAME` or `NAME@VERSION` if there is no such file."""
    from tenax.sdk.bundle import submission_of

    if is_stored_name(name):
        return Submission(workflow=name, input=dict(given), key=key)
    return submission_of(read_definition(name), input=given, key=key)


def is_stored_name(name: str) -> bool:
    """Returns whether a name means a stored workflow: it is no file, and does not look like one."""
    if name == STDIN or name.endswith(_FILE_ENDINGS) or not is_workflow_name(name.partition("@")[0]):
        return False
    try:
        return not Path(name).exists()
    except OSError:
        return False


@contextlib.contextmanager
def both_searches_named(submission: Submission) -> Iterator[None]:
    """Adds to the error for an unknown name that there is neither a file nor a stored workflow of this name."""
    try:
        yield
    except NotFound as error:
        name = submission.workflow
        if name is None or repr(name.partition("@")[0]) not in error.message:
            raise
        raise NotFound(f"{name}: there is no such file, and {error.message}", remedy=error.remedy) from None
