"""Fetches the files of the API page that are not ours, checks them, and puts them into the package: `make vendor`.

The page is Swagger UI. Its files are in the repository, so that neither an installation nor a browser asks another host for them.
`vendored.json` beside them has the version, and the SHA-256 of the package and of each file. To take another version: change the
version and run it with --accept, which writes the new hashes; look at what has changed, and commit both.
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
from pathlib import Path

PAGE = Path(__file__).parents[1] / "src" / "tenax" / "server" / "docs_page"
LIST = PAGE / "vendored.json"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--accept", action="store_true", help="write the hashes of what was fetched")
    accept = arguments.parse_args().accept
    listed = json.loads(LIST.read_text())
    package = fetch(listed["package"], listed["version"])
    found = contents(package, list(listed["files"]))
    hashes = {name: sha256(content) for name, content in found.items()}
    if accept:
        listed |= {"sha256": sha256(package), "files": hashes}
        LIST.write_text(json.dumps(listed, indent=2) + "\n")
    elif (sha256(package), hashes) != (listed["sha256"], listed["files"]):
        print(
            f"{listed['package']} {listed['version']} is not what {LIST.name} says; nothing was changed",
            file=sys.stderr,
        )
        return 1
    for name, content in found.items():
        (PAGE / name).write_bytes(content)
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


def contents(package: bytes, names: list[str]) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        files = {name: archive.extractfile(f"package/{name}") for name in names}
        return {name: file.read() for name, file in files.items() if file is not None}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
