"""Prints the JSON Schema of workflow files and of action files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tenax.cli.output import json_document, print_json, say
from tenax.errors import UsageError
from tenax.model.parse.file_schema import action_schema, file_schema


def schema(
    *,
    action: Annotated[bool, Parameter(help="The schema of the action files of packs.")] = False,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="The file to write to. [stdout]")
    ] = None,
) -> None:
    """Print the JSON Schema (2020-12) of workflow files, or of action files. Editors complete and check files by it; see docs/cli.md."""
    made = action_schema() if action else file_schema()
    if output is None:
        print_json(made)
        return
    try:
        output.write_text(json_document(made) + "\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from None
    say(f"wrote {output}")
