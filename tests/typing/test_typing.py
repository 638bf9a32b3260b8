"""mypy knows the arguments and the results of tasks: it accepts what is right, and reports what is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILE = HERE / "public_api.py"
_EXPECTED = re.compile(r"# error: (.*)$")
_REPORTED = re.compile(r"public_api\.py:(\d+): error: (.*)$")


def test_mypy_reports_exactly_the_mistakes(tmp_path):
    expected = {
        number: found[1]
        for number, line in enumerate(FILE.read_text().splitlines(), 1)
        if (found := _EXPECTED.search(line)) is not None
    }
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", ""),
            *("--cache-dir", str(tmp_path), "--follow-imports=silent", str(FILE)),
        ],
        capture_output=True,
        text=True,
        cwd=HERE.parents[1],
    )
    reported = {
        int(found[1]): found[2] for found in map(_REPORTED.search, checked.stdout.splitlines()) if found
    }
    assert reported.keys() == expected.keys(), checked.stdout + checked.stderr
    assert [(expected[line], said) for line, said in reported.items() if expected[line] not in said] == []
