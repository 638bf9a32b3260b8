"""Measures how long tests with the fixture `tenax` take: `python -m benchmarks.plugin_tests [--tests 1000] [--processes 2]`.

Each test runs a workflow of one step whose first attempt fails, so it also passes a retry of two hours. The file of tests is
written to a temporary folder and run by pytest in a process of its own.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = '''
import pytest
from tenax.testing import completed

ORDER = """
name: order
workflow:
  - {{step: charge, type: python, task: "operator:add", args: [1, 2], retry: {{max_attempts: 3, initial_delay: 2h}}}}
"""


@pytest.mark.parametrize("number", range({count}))
def test_a_retry(tenax, number):
    tenax.fail("charge")
    execution = tenax.run(ORDER)
    assert execution == completed
    execution.assert_attempts("charge", 2)
'''


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.plugin_tests", description=__doc__)
    options.add_argument("--tests", type=int, default=1000, help="how many tests to run")
    options.add_argument(
        "--processes", type=int, default=2, help="how many processes of pytest-xdist run them"
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenax-plugin-tests-") as folder:
        (Path(folder) / "test_many.py").write_text(TESTS.format(count=given.tests), "utf-8")
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(given.processes)]
        ended = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        seconds = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = re.sub(
        r"\s+", " ", ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else ended.stderr
    )
    print(
        f"{given.tests:,} tests on {given.processes} processes: {seconds:.1f} s, {1000 * seconds / given.tests:.0f} ms each"
    )
    print(f"processor time of pytest: {used.ru_utime + used.ru_stime:.1f} s (PostgreSQL's is not in it)")
    print(said)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
