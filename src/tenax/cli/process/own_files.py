"""Notices that Python files of the user's own modules have changed."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

POLL_SECONDS = 0.3
"""Seconds between two looks at the files."""
_FOREIGN = tuple(
    {
        os.path.realpath(folder) + os.sep
        for folder in (
            *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
            str(Path(__file__).parents[2]),
        )
    }
)
"""The folders of Python, of installed packages and of Tenax, whose files do not change while one works."""

_Stamp = tuple[int, int]


class OwnFiles:
    """Watches the files of all modules that are imported, now or later, except those of Python and of installed packages."""

    def __init__(self) -> None:
        self._modules: set[str] = set()
        self._seen: dict[str, _Stamp | None] = {}

    def add(self, file: str | None) -> None:
        """Watches a file, also if no module was imported from it."""
        if file is not None and file.endswith(".py") and not os.path.realpath(file).startswith(_FOREIGN):
            self._seen.setdefault(file, _stamp(file))

    def add_failed(self, error: BaseException) -> None:
        """Watches the files that an import which failed had come to."""
        cause: BaseException | None = error
        while cause is not None:
            self.add(getattr(cause, "filename", None))  # of a SyntaxError
            for file in _files_of(cause.__traceback__):
                self.add(file)
            cause = cause.__cause__

    def changed(self) -> str | None:
        """Returns a file that is not what it was when it was first seen. Returns None if there is none."""
        for name in sys.modules.keys() - self._modules:
            self._modules.add(name)
            self.add(getattr(sys.modules.get(name), "__file__", None))
        for file, seen in self._seen.items():
            now = _stamp(file)
            if now is not None and now != seen:  # an editor may remove a file for a moment
                return file
        return None

    async def until_changed(self) -> str:
        while (file := self.changed()) is None:  # noqa: ASYNC110 -- the file system sets no event
            await asyncio.sleep(POLL_SECONDS)
        return file

    def wait(self) -> str:
        while (file := self.changed()) is None:
            time.sleep(POLL_SECONDS)
        return file


def _stamp(file: str) -> _Stamp | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _files_of(trace: TracebackType | None) -> Iterator[str]:
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
