"""Writes the tables of the docs that are made from the code (`make docs`). A test fails if they differ.

A block is between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `generate_*`, beside this file

import dashboard
import diagrams
import generate_cli
import generate_events
import generate_import
import generate_limits
import generate_metrics
import generate_policy
import generate_python
import generate_reference
import generate_rooms
import generate_sizes
import generate_sql

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
DASHBOARD = ROOT / "src/tenax/monitoring/dashboard.json"
BLOCK = re.compile(r"(<!-- generated: ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
BLOCKS: Mapping[str, Callable[[], str]] = {
    **generate_policy.BLOCKS,
    **generate_events.BLOCKS,
    **generate_import.BLOCKS,
    **generate_reference.BLOCKS,
    **generate_cli.BLOCKS,
    **generate_limits.BLOCKS,
    **generate_metrics.BLOCKS,
    **generate_rooms.BLOCKS,
    **generate_python.BLOCKS,
    **generate_sizes.BLOCKS,
    **generate_sql.BLOCKS,
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
