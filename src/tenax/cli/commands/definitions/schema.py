"""Prints the JSON Schema of workflow files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tenax.cli.output import json_document, print_json, say
from tenax.errors import UsageError
from tenax.model.parse.file_schema import file_schema


def schema(
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="The file to write to. [stdout]")
    ] = None,
) -> None:
    """Print the JSON Schema (2020-12) of workflow files. Editors complete and check files by it; see docs/cli.md."""
    if output is None:
        print_json(file_schema())
        return
    try:
        output.write_text(json_document(file_schema()) + "\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from None
    say(f"wrote {output}")
