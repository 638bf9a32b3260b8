"""Translates files of other systems into workflow files."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tenax.cli.flags import Json
from tenax.cli.input.check_definition import shown_name
from tenax.cli.input.inputs import read_bytes
from tenax.cli.output import print_json, say
from tenax.dialects.translate import SYSTEMS, Import, joined, translate_text
from tenax.errors import Finding, InvalidDefinition, UsageError

_YAML = (".yaml", ".yml")


def import_files(
    file: Annotated[str, Parameter(name="FILE", help="A file of another system; - is stdin.")],
    /,
    *files: Annotated[str, Parameter(help="More files.")],
    from_: Annotated[
        str | None,
        Parameter(
            name="--from",
            help=f"The system that the files are from: {', '.join(SYSTEMS)}. Without it, Tenax recognises it.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        Parameter(
            name=["--out", "-o"],
            help="The file to write, or the folder for several workflows: each in a file of its own.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Translate files of other systems: their retry settings exactly, and of their workflows what has a counterpart.

    The workflows are printed, or written to --out. The report on stderr says, by line, what was understood, what was
    changed and why, and what was dropped. With --json the workflows and the report are one JSON document on stdout. The
    exit code is 2 if a file cannot be read as that of a system.
    """
    imports: list[Import] = []
    failures: list[Finding] = []
    for name in (file, *files):
        try:
            imports.append(translate_text(read_bytes(name), filename=shown_name(name), system=from_))
        except InvalidDefinition as error:
            failures += error.findings
    if failures:
        raise InvalidDefinition(failures)
    found = joined(imports)
    written = _write(found, out) if out else []
    if json:
        print_json({**found.as_dict(), "files": written})
        return
    if not out:
        sys.stdout.write(found.text)
    _report(found, written)


def _write(found: Import, out: str) -> list[str]:
    """Writes the workflows: one to a file, several into a folder. Returns the paths."""
    path = Path(out)
    if len(found.workflows) == 1 and not path.is_dir() and not out.endswith("/"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found.text, "utf-8")
        return [str(path)]
    if path.suffix in _YAML or path.is_file():
        count = len(found.workflows)
        raise UsageError(
            f"{out}: the import makes {count} workflows, and a file holds one",
            remedy="name a folder: each workflow is written into a file of its own there",
        )
    path.mkdir(parents=True, exist_ok=True)
    written = []
    for workflow in found.workflows:
        target = path / f"{workflow.name}.yaml"
        target.write_text(workflow.text, "utf-8")
        written.append(str(target))
    return written


def _report(found: Import, written: list[str]) -> None:
    for entry in found.entries:
        say(str(entry), stream=sys.stderr)
    counts = Counter(entry.kind for entry in found.entries)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ("understood", "changed", "dropped"))
    names = ", ".join(f"{one.name} (from {one.system})" for one in found.workflows)
    say(f"imported {names}: {kinds}", stream=sys.stderr)
    for path in written:
        say(f"wrote {path}", stream=sys.stderr)
