"""Fetches the files of the pages that are not ours, checks them, and puts them into the package: `make vendor`.

The page of the API is Swagger UI, and the dashboard uses htmx and uPlot. Their files are in the repository, so that neither an installation
nor a browser asks another host for them. `vendored.json` beside them lists the packages, with their versions and the SHA-256 of each package
and of each file. To take another version: change the version and run it with --accept, which writes the new hashes; look at what has changed,
and commit both.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TENAX = Path(__file__).parents[1] / "src" / "tenax"
FOLDERS = (TENAX / "server" / "docs_page", TENAX / "ui" / "static")
LIST = "vendored.json"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--accept", action="store_true", help="write the hashes of what was fetched")
    accept = arguments.parse_args().accept
    return max(take(folder, accept=accept) for folder in FOLDERS)


def take(folder: Path, *, accept: bool) -> int:
    """Puts the listed files of all packages into a folder. Returns 1, and changes nothing there, if a hash differs."""
    listed: list[dict[str, Any]] = json.loads((folder / LIST).read_text())
    found: dict[str, bytes] = {}
    wrong = False
    for package in listed:
        archive = fetch(package["package"], package["version"])
        files = contents(archive, package["files"])
        hashes = {name: {**file, "sha256": sha256(files[name])} for name, file in package["files"].items()}
        if accept:
            package |= {"sha256": sha256(archive), "files": hashes}
        elif (sha256(archive), hashes) != (package["sha256"], package["files"]):
            print(
                f"{package['package']} {package['version']} is not what {folder / LIST} says", file=sys.stderr
            )
            wrong = True
        found |= files
    if wrong:
        return 1
    if accept:
        (folder / LIST).write_text(json.dumps(listed, indent=2) + "\n")
    for name, content in found.items():
        (folder / name).write_bytes(content)
    return 0


def fetch(package: str, version: str) -> bytes:
    """Returns the archive of a package, from the registry that npm is set up for."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"{package}@{version}"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [archive] = Path(folder).iterdir()
        return archive.read_bytes()


def contents(archive: bytes, files: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    """Returns the content of each file by its name here. `from` is its path in the package."""
    return dict(_read(archive, ((name, file["from"]) for name, file in files.items())))


def _read(archive: bytes, paths: Iterable[tuple[str, str]]) -> Iterable[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for name, path in paths:
            file = opened.extractfile(f"package/{path}")
            assert file is not None, path
            yield name, file.read()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
