"""Measures a tree of Python: median, 90th percentile and largest of its functions, classes and modules, in lines.

    python tests/architecture/sizes.py FOLDER ...

A function and a class count from their first line (`def`, `class`) to their last, comments and docstrings included; what is nested
counts in what it is nested in, and by itself. Modules without a statement beyond their docstring do not count.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("function", "class", "module")


@dataclass(frozen=True, order=True)
class Sized:
    """Is one function, class or module."""

    lines: int
    where: str


@dataclass(frozen=True)
class Measure:
    """Summarises the sizes of one kind."""

    median: float
    ninetieth: int
    largest: Sized


def sizes(folder: Path) -> dict[str, list[Sized]]:
    """Returns everything of each kind below a folder, the largest last."""
    found: dict[str, list[Sized]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.rglob("*.py")):
        for kind, sized in _of_module(path.read_text("utf-8"), str(path.relative_to(folder))):
            found[kind].append(sized)
    return {kind: sorted(all_of_it) for kind, all_of_it in found.items()}


def _of_module(text: str, name: str) -> Iterator[tuple[str, Sized]]:
    tree = ast.parse(text)
    if tree.body[1 if ast.get_docstring(tree, clean=False) is not None else 0 :]:
        yield "module", Sized(len(text.splitlines()), name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            assert node.end_lineno is not None
            yield kind, Sized(node.end_lineno - node.lineno + 1, f"{name}:{node.name}")


def measure(sized: Sequence[Sized]) -> Measure:
    """Returns the median, the smallest size that 90 % do not exceed, and the largest."""
    lines = [one.lines for one in sized]
    return Measure(statistics.median(lines), lines[-(-9 * len(lines) // 10) - 1], sized[-1])


def measures(folder: Path) -> Mapping[str, Measure]:
    return {kind: measure(all_of_it) for kind, all_of_it in sizes(folder).items()}


def main(folders: Sequence[str]) -> None:
    for folder in folders:
        print(folder)
        for kind, found in sizes(Path(folder)).items():
            seen = measure(found)
            print(
                f"  {kind:8} {len(found):6,} of them: median {seen.median:g}, 90 % at most {seen.ninetieth}, "
                f"largest {seen.largest.lines} ({seen.largest.where})"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
