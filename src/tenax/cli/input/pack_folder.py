"""Packs a folder into the archive that a server installs. Refuses files that would be different on another machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tenax.errors import TooLarge, UsageError
from tenax.model.packs.archive import MAX_FILES, PackedFile, too_large, write_archive
from tenax.model.packs.names import path_fault, shown_path

LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store"})
"""Names that are left out of a pack."""
_COMPILED = ".pyc"


def pack_folder(folder: Path, most: int) -> bytes:
    """Returns the archive of a folder. `most` is the limit of the bytes of all files."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "there is no such folder"
        raise UsageError(f"{folder}: {what}", remedy="name the folder of the pack: tenax pack install FOLDER")
    root = folder.resolve()
    files: list[PackedFile] = []
    size = 0
    for path in _files_below(root, root):
        one = _read(path, root)
        size += len(one.content)
        if size > most:
            raise too_large(most)
        files.append(one)
        if len(files) > MAX_FILES:
            raise TooLarge(f"a pack has at most {MAX_FILES:,} files")
    return write_archive(files)


def _files_below(folder: Path, root: Path) -> Iterator[Path]:
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from None
    for path in paths:
        if path.name in LEFT_OUT or path.name.endswith(_COMPILED):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files_below(path, root)
        else:
            yield path


def _read(path: Path, root: Path) -> PackedFile:
    """Reads one file. A link within the pack becomes the file that it leads to."""
    name = path.relative_to(root).as_posix()
    if (fault := path_fault(name)) is not None:
        raise UsageError(f"the path {shown_path(name)} {fault}")
    target = path.resolve()
    if path.is_symlink() and not (target.is_relative_to(root) and target.is_file()):
        why = "a link out of the pack" if not target.is_relative_to(root) else "a link to no file of the pack"
        raise UsageError(f"{shown_path(name)} is {why}", remedy="put the file itself into the pack")
    try:
        # Opening a pipe would wait for its other end.
        with open(os.open(target, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 -- flags of its own
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UsageError(
                    f"{shown_path(name)} is a device, a pipe or a socket: a pack holds only files",
                    remedy="remove it from the folder",
                )
            return PackedFile(name, bool(mode & stat.S_IXUSR), file.read())
    except OSError as error:
        raise UsageError(f"cannot read {shown_path(name)}: {error.strerror}") from None
