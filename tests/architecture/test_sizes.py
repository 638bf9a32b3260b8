"""Checks that the sizes in docs/architecture.md are counted as the page says."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `sizes`, which has no package

from sizes import Measure, Sized, measure, sizes


def test_functions_and_classes_are_counted_from_first_to_last_line_and_nested_ones_too(
    tmp_path: Path,
) -> None:
    (tmp_path / "__init__.py").write_text('"""Only a docstring."""\n')
    (tmp_path / "a.py").write_text(
        "class A:\n    @property\n    def one(self):\n        def inner():\n            return 1\n\n        return inner\n\n\nX = 1\n"
    )
    assert sizes(tmp_path) == {
        "function": [Sized(2, "a.py:inner"), Sized(5, "a.py:one")],
        "class": [Sized(7, "a.py:A")],
        "module": [Sized(10, "a.py")],
    }


def test_median_ninetieth_percentile_and_largest() -> None:
    sized = [Sized(n, str(n)) for n in range(1, 11)]
    assert measure(sized) == Measure(5.5, 9, Sized(10, "10"))
    assert measure(sized[:1]) == Measure(1, 1, Sized(1, "1"))
