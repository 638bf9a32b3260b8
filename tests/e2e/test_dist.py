"""Tests the packages that `make dist` writes: they are complete, and run without the rest of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tenax

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
WORKFLOW = """\
name: hello
workflow:
  - step: greet
    type: process
    command: |
      echo '{"status": "completed", "output": {"greeting": "hello"}}' > "$TENAX_RESULT_FILE"
"""


def build(folder: Path, into: Path, *kinds: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(into), *kinds]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


def test_the_wheel_has_the_package_with_its_statements_and_the_licence(dist: Path) -> None:
    [wheel] = dist.glob("*.whl")
    packed = contents(wheel)
    assert wheel.name == f"tenax-{tenax.__version__}-py3-none-any.whl"
    ours = {
        str(path.relative_to(SOURCES))
        for path in (SOURCES / "tenax").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {name for name in packed if name.startswith("tenax/")} == ours
    assert {"tenax/py.typed", "tenax/sql/schema.sql"} <= ours
    about = f"tenax-{tenax.__version__}.dist-info"
    assert packed[f"{about}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"\nLicense-Expression: Apache-2.0\n" in packed[f"{about}/METADATA"]


def test_the_source_distribution_makes_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    [wheel], [source] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    subprocess.run(
        ["tar", "-xzf", source, "-C", tmp_path], check=True
    )  # Python 3.11.2 has no safe way of its own
    [unpacked] = tmp_path.iterdir()
    build(unpacked, unpacked / "dist", "--target", "wheel")
    [again] = (unpacked / "dist").glob("*.whl")
    assert contents(again) == contents(wheel)


@pytest.mark.full
def test_the_wheel_runs_a_workflow_in_an_empty_environment(dist: Path, open_folder: Path) -> None:
    [wheel] = dist.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(open_folder / "env")], check=True)
    python = open_folder / "env/bin/python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "--quiet",
        "--disable-pip-version-check",
        "install",
    ]
    locked = ["--require-hashes", "--no-deps", "--requirement", str(ROOT / "requirements/run.txt")]
    subprocess.run([*pip, *locked], check=True)
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    (open_folder / "hello.yaml").write_text(WORKFLOW)
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
    done = subprocess.run(
        [str(python.with_name("tenax")), "run", "hello.yaml", "--json"],
        cwd=open_folder,
        env={
            **kept,
            "PATH": "/usr/bin:/bin",
            "HOME": str(open_folder),
            "TENAX_HOME": str(open_folder / "home"),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert '"greeting": "hello"' in done.stdout
    where = [str(python), "-c", "import tenax; print(tenax.__file__, tenax.__version__)"]
    imported = subprocess.run(
        where, cwd=open_folder, capture_output=True, text=True, check=True
    ).stdout.split()
    assert Path(imported[0]).is_relative_to(open_folder / "env")
    assert imported[1] == tenax.__version__
