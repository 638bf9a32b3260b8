"""Defines what the lint finds: the code of a rule, the place, a sentence, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tenax.model.source.findings import Path

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Removal:
    """Is a certain fix: the key at this path has no effect and can be removed."""

    path: Path


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Is one finding at one place of a file."""

    code: str
    severity: Severity
    message: str
    remedy: str
    path: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    fix: Removal | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.code} {self.severity}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        names = ("code", "severity", "file", "line", "column", "path", "message", "remedy")
        return {**{name: getattr(self, name) for name in names}, "fixable": self.fix is not None}
