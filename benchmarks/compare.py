"""Runs the measures of an earlier commit and of this tree in turn: `python -m benchmarks.compare COMMIT [MEASURE ...]`.

Each round runs a measure once with the sources of the commit and once with those here, on the same machine in the same minutes, and with as many
jobs. The table
shows the medians, the median of the ratios round by round (what slows the machine for a minute slows both), and how far these lie apart. Peers are left out: they are the same for both.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from dataclasses import fields
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.plan import Plan

ROOT = Path(__file__).parents[1]
RUNNER = """
import functools, json, os, sys
from benchmarks import __main__ as bench
from benchmarks.peers import registry

def left_out(peer, say):
    raise registry.CannotBeMade("this run compares Tenax with itself")

registry._ready = left_out
bench.Plan = functools.partial(bench.Plan, **json.loads(os.environ["BENCH_SIZES"]))
sys.exit(bench.main())
"""


class Name(NamedTuple):
    measure: str
    figure: str
    unit: str


Rounds = dict[Name, list[float]]


def extract(commit: str, folder: Path) -> Path:
    """Writes the sources and the benchmarks of a commit into a folder."""
    archive = subprocess.run(
        ["git", "archive", "--format=zip", commit], cwd=ROOT, check=True, capture_output=True
    ).stdout
    zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
    return folder


def run_once(tree: Path, measure: str, results: Path) -> Rounds:
    """Runs one round of a measure with the sources of a tree."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "BENCH_SIZES": json.dumps(_sizes()),
    }
    command = [sys.executable, "-c", RUNNER, measure, "--rounds", "1", "--results", str(results)]
    results.mkdir(parents=True)
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{measure} of {tree} failed:\n{done.stderr[-2000:]}")
    [written] = results.glob("*.json")
    figures = json.loads(written.read_text())["figures"]
    return {Name(f["measure"], f["name"], f["unit"]): f["rounds"] for f in figures}


def _sizes() -> dict[str, int]:
    """Returns the sizes of this tree's measures. Both trees run the same sizes."""
    return {
        field.name: field.default
        for field in fields(Plan)
        if isinstance(field.default, int) and "rounds" not in field.name
    }


def table(before: Rounds, after: Rounds) -> str:
    lines = [
        "| measure | figure | before | after | after / before | lowest .. highest |",
        "|---|---|---|---|---|---|",
    ]
    for name in [name for name in before if name in after]:
        old, new = before[name], after[name]
        ratios = [y / x for x, y in zip(old, new, strict=False) if x]
        ratio, spread = (
            (f"{median(ratios):.2f}", f"{min(ratios):.2f} .. {max(ratios):.2f}") if ratios else ("-", "-")
        )
        lines.append(
            f"| {name.measure} | {name.figure} ({name.unit}) | {median(old):,.4g} | {median(new):,.4g} | {ratio} | {spread} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument(
        "measures", nargs="+", metavar="MEASURE", help="the measures, as for `python -m benchmarks`"
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    options = parser.parse_args()
    before: Rounds = defaultdict(list)
    after: Rounds = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        trees = ((extract(options.commit, folder / "before"), before), (ROOT, after))
        for measure in options.measures:
            for n in range(options.rounds):
                for tree, rounds in trees if n % 2 == 0 else trees[::-1]:
                    results = folder / "results" / measure / f"{n}-{tree.name}"
                    for figure, values in run_once(tree, measure, results).items():
                        rounds[figure] += values
                sys.stderr.write(f"{measure}: round {n + 1} of {options.rounds}\n")
            sys.stdout.write(table({k: v for k, v in before.items() if k.measure == measure}, after) + "\n\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
