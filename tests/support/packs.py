"""Makes packs: folders of action files, and their archives."""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tenax.model.packs.archive import PackedFile, write_archive

Files = Mapping[str, str | bytes]

# The file that the source of Attune shows.
FLAKY_API = """\
# packs/mypack/actions/flaky-api.yaml
name: flaky_api_call
runtime: python
entrypoint: actions/flaky_api.py
timeout_seconds: 120 # Custom timeout (overrides global 5 min)
max_retries: 3 # Retry up to 3 times on failure
parameters:
  url:
    type: string
    required: true
"""
CALL = "import json, sys\nprint(json.dumps({'called': json.load(sys.stdin)['url']}))\n"
MYPACK: Files = {"actions/flaky-api.yaml": FLAKY_API, "actions/flaky_api.py": CALL}


def echo(text: str, **more: str) -> dict[str, str]:
    """Returns the files of a pack with an action `say`, which prints a text."""
    keys = "".join(f"{key}: {value}\n" for key, value in more.items())
    return {"actions/say.yaml": f"name: say\ncommand: echo {text}\n{keys}"}


def packed(files: Files, *, executable: tuple[str, ...] = ()) -> bytes:
    """Returns the archive of these files."""
    return write_archive(
        PackedFile(path, path in executable, text.encode() if isinstance(text, str) else text)
        for path, text in files.items()
    )


def tar_of(*members: tarfile.TarInfo, content: bytes = b"x") -> bytes:
    """Returns a tar of any members. Those that are files have this content."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for member in members:
            if member.isreg():
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return target.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o644
    return info


def write_files(folder: Path, files: Files) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


async def pieces(content: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    """Yields a content in pieces, as they arrive over a network."""
    for start in range(0, len(content), size):
        yield content[start : start + size]
