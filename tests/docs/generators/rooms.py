"""Lists the rooms of the source: each package with its modules and its purpose, from its own docstring."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from generators.tables import code, codes, table

SOURCE = Path(__file__).parents[3] / "src" / "tenax"


def rooms() -> Iterator[tuple[str, str, list[str]]]:
    """Yields the name of each package, what it is for, and its modules."""
    for init in sorted(SOURCE.rglob("__init__.py")):
        folder = init.parent
        if folder == SOURCE:
            continue
        purpose = (ast.get_docstring(ast.parse(init.read_text("utf-8"))) or "").partition("\n")[0]
        modules = sorted(path.stem for path in folder.glob("*.py") if path != init)
        yield str(folder.relative_to(SOURCE)), purpose, modules


def _rooms() -> str:
    return table(
        ["room", "what it is for", "modules"],
        [(code(name), purpose, codes(modules)) for name, purpose, modules in rooms()],
    )


BLOCKS: Mapping[str, Callable[[], str]] = {"rooms": _rooms}
