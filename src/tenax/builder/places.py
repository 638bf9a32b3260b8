"""Remembers the Python lines at which a workflow was built, and moves the findings of the reader there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tenax.errors import Finding, InvalidDefinition
from tenax.model.source.findings import shorten

_OWN_FOLDER = str(Path(__file__).parent)
_STEP_PATH = re.compile(r"workflow\[(\d+)\]\.?(.*)", re.DOTALL)
_YAML_LINE = re.compile(r" \(line \d+\)")


@dataclass(frozen=True, slots=True)
class PythonLine:
    """Is the line of a Python file that called the builder."""

    file: str
    line: int

    def shown(self) -> str:
        """Returns the path of the file, as it is seen from the working folder."""
        file, here = Path(self.file), Path.cwd()
        return str(file.relative_to(here) if file.is_relative_to(here) else file)

    def refusal(self, step: str, message: str) -> InvalidDefinition:
        return InvalidDefinition([Finding(message, path=step, file=self.shown(), line=self.line)])


def line_of_caller() -> PythonLine:
    """Returns the line outside of this package that called it."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
    assert frame is not None
    return PythonLine(frame.f_code.co_filename, frame.f_lineno)


def at_python_lines(
    findings: Iterable[Finding],
    top: PythonLine,
    outputs: PythonLine | None,
    steps: Sequence[tuple[str, PythonLine]],
) -> InvalidDefinition:
    """Returns the findings of the reader with the Python line of each step, and with the step's name in their paths."""
    return InvalidDefinition([_moved(finding, top, outputs, steps) for finding in findings])


def _moved(
    finding: Finding, top: PythonLine, outputs: PythonLine | None, steps: Sequence[tuple[str, PythonLine]]
) -> Finding:
    place, path = top, finding.path
    if (found := _STEP_PATH.fullmatch(path)) is not None:
        name, place = steps[int(found[1])]
        path = ".".join(part for part in (shorten(name), found[2]) if part)
    elif path.startswith("outputs") and outputs is not None:
        place = outputs
    message = _YAML_LINE.sub("", finding.message)
    return Finding(message, path=path, file=place.shown(), line=place.line)
