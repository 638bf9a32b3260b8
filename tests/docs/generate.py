"""Writes the tables of the docs that are made from the code (`make docs`). A test fails if they differ.

A block is between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `generators`, beside this file

from generators import cli as cli_tables
from generators import dashboard, diagrams
from generators import events as events_tables
from generators import imports as imports_tables
from generators import limits as limits_tables
from generators import metrics as metrics_tables
from generators import policy as policy_tables
from generators import python as python_tables
from generators import reference as reference_tables
from generators import rooms as rooms_tables
from generators import sizes as sizes_tables
from generators import sql as sql_tables

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
DASHBOARD = ROOT / "src/tenax/monitoring/dashboard.json"
BLOCK = re.compile(r"(<!-- generated: ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
BLOCKS: Mapping[str, Callable[[], str]] = {
    **policy_tables.BLOCKS,
    **events_tables.BLOCKS,
    **imports_tables.BLOCKS,
    **reference_tables.BLOCKS,
    **cli_tables.BLOCKS,
    **limits_tables.BLOCKS,
    **metrics_tables.BLOCKS,
    **rooms_tables.BLOCKS,
    **python_tables.BLOCKS,
    **sizes_tables.BLOCKS,
    **sql_tables.BLOCKS,
}


def pages() -> list[Path]:
    """Returns every page that a reader of the docs can reach."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def rendered(text: str) -> str:
    """Returns the page with all its blocks made again."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]().strip()}\n\n{found[3]}", text)


def used(texts: Iterable[str]) -> set[str]:
    return {found[2] for text in texts for found in BLOCK.finditer(text)}


def main() -> None:
    for page in pages():
        before = page.read_text("utf-8")
        after = rendered(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
    for name, draw in diagrams.PICTURES.items():
        picture = IMAGES / name
        if not picture.exists() or picture.read_text("utf-8") != draw():
            picture.write_text(draw(), "utf-8")
            print(f"wrote {picture.relative_to(ROOT)}")
    if not DASHBOARD.exists() or DASHBOARD.read_text("utf-8") != dashboard.dashboard():
        DASHBOARD.write_text(dashboard.dashboard(), "utf-8")
        print(f"wrote {DASHBOARD.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
