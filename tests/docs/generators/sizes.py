"""Compares the sizes of functions, classes and modules with those of an earlier version and of a library with a similar task."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from generators.tables import code, table

sys.path.insert(0, str(Path(__file__).parents[2] / "architecture"))

from sizes import Measure, Sized, measures

SOURCE = Path(__file__).parents[3] / "src" / "tenax"
# Measured by `python3.12 tests/architecture/sizes.py FOLDER`, on `git archive bcf0f41 src` and on the wheel of oban 0.7.0.
RECORDED: Mapping[str, Mapping[str, Measure]] = {
    "version 0.1 (bcf0f41)": {
        "function": Measure(6, 18, Sized(51, "engine/views.py:get")),
        "class": Measure(12, 69, Sized(320, "worker/loop.py:Worker")),
        "module": Measure(110.5, 286, Sized(397, "store/rows.py")),
    },
    "oban-py 0.7.0": {
        "function": Measure(10, 34, Sized(155, "oban.py:__init__")),
        "class": Measure(70, 235, Sized(1141, "oban.py:Oban")),
        "module": Measure(167.5, 460, Sized(1180, "oban.py")),
    },
}


def _sizes() -> str:
    trees = {"this version": measures(SOURCE), **RECORDED}
    rows = []
    for kind in ("function", "class", "module"):
        rows += [
            (f"{kind}: median", *(f"{found[kind].median:g}" for found in trees.values())),
            (f"{kind}: 90th percentile", *(str(found[kind].ninetieth) for found in trees.values())),
            (f"{kind}: largest", *(_largest(found[kind]) for found in trees.values())),
        ]
    return table(["lines", *trees], rows)


def _largest(found: Measure) -> str:
    return f"{found.largest.lines:,} ({code(found.largest.where)})"


BLOCKS: Mapping[str, Callable[[], str]] = {"sizes": _sizes}
