"""Holds what an attempt has printed and the server has not taken yet. Its size is bounded, and the middle is cut."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from tenax.worker.handlers.json_values import storable_text

LONGEST_LINE = 65_536
"""Characters of a line. Of a longer one, the beginning is kept before its end is there."""
LINE_REST = 8_192
"""Characters of such a line that wait for its next part: a secret is recognised only if it is whole."""
BLOCK = 8_192
"""Bytes from which a block of text takes no more lines."""
PART_BYTES = 131_072
"""Bytes of a part that is sent, at most."""


class Block:
    """Is a piece of output, with its place in bytes."""

    __slots__ = ("size", "start", "texts")

    def __init__(self, start: int) -> None:
        self.start = start
        self.size = 0
        self.texts: list[str] = []


class OutputBuffer:
    """Takes text from any thread. Secrets are scrubbed from whole lines, before anything is cut."""

    def __init__(self, limit: int, scrub: Callable[[str], str]) -> None:
        """`limit` is the most bytes that wait to be sent."""
        self._limit = limit
        self._scrub = scrub
        self._lock = threading.Lock()
        self._open = {1: "", 2: ""}
        """The unfinished lines of stdout and stderr."""
        self._blocks: deque[Block] = deque()
        self._waiting = 0
        """Bytes of the blocks."""
        self._end = 0
        """Bytes that the attempt has printed."""
        self._sending: tuple[int, str] | None = None

    @property
    def waiting(self) -> int:
        """The number of bytes that the server has not taken yet, without unfinished lines."""
        sending = self._sending
        return self._waiting + (0 if sending is None else len(sending[1].encode()))

    def write(self, text: str, stream: int = 1) -> None:
        with self._lock:
            whole, newline, rest = (self._open[stream] + text).rpartition("\n")
            self._open[stream] = rest
            if newline:
                self._keep(self._scrub(f"{whole}\n"))
            if len(rest) > LONGEST_LINE:
                scrubbed = self._scrub(rest)
                self._keep(scrubbed[:-LINE_REST])
                self._open[stream] = scrubbed[-LINE_REST:]

    def finish(self) -> None:
        """Takes the unfinished lines too. The attempt prints no more."""
        with self._lock:
            for stream, rest in self._open.items():
                if rest:
                    self._keep(self._scrub(rest))
                self._open[stream] = ""

    def take(self) -> tuple[int, str] | None:
        """Returns the next part to send with its place. The same part is returned until `note_sent` is called."""
        with self._lock:
            if self._sending is None and self._blocks:
                start, texts, size = self._blocks[0].start, [], 0
                while self._blocks and self._blocks[0].start == start + size:
                    if size + self._blocks[0].size > PART_BYTES:
                        break
                    block = self._blocks.popleft()
                    texts += block.texts
                    size += block.size
                self._waiting -= size
                self._sending = start, "".join(texts)
            return self._sending

    def note_sent(self) -> None:
        with self._lock:
            self._sending = None

    def _keep(self, text: str) -> None:
        text = storable_text(text)
        data = text.encode()
        if len(data) <= BLOCK:
            self._add(text, len(data))
        else:
            self._add_long(data)
        if self._waiting > self._limit:
            self._cut()

    def _add(self, text: str, size: int) -> None:
        last = self._blocks[-1] if self._blocks else None
        if last is None or last.size + size > BLOCK or last.start + last.size != self._end:
            last = Block(self._end)
            self._blocks.append(last)
        last.texts.append(text)
        last.size += size
        self._waiting += size
        self._end += size
        if len(last.texts) > 100:  # many short lines would take more memory than their text
            last.texts = ["".join(last.texts)]

    def _add_long(self, data: bytes) -> None:
        """Adds a long text in blocks. Of one that is longer than the limit, only both ends are encoded into blocks."""
        half = self._limit // 2
        whole = len(data) <= self._limit
        spans = [(0, len(data))] if whole else [(0, half), (len(data) - half, len(data))]
        base = self._end
        for begin, end in spans:
            self._end = base + _character_from(data, begin)
            while self._end - base < end:
                at = self._end - base
                until = _character_from(data, min(at + BLOCK, end))
                if until <= at:
                    break
                self._blocks.append(Block(self._end))
                self._add_to_last(data[at:until])
        self._end = base + len(data)

    def _add_to_last(self, data: bytes) -> None:
        last = self._blocks[-1]
        last.texts.append(data.decode())
        last.size = len(data)
        self._waiting += len(data)
        self._end += len(data)

    def _cut(self) -> None:
        """Drops blocks of the middle, so that at most three quarters of the limit are left: a quarter at the beginning."""
        head, kept = deque[Block](), 0
        while self._blocks and kept + self._blocks[0].size <= self._limit // 4:
            kept += self._blocks[0].size
            head.append(self._blocks.popleft())
        while self._blocks and self._waiting > 3 * self._limit // 4:
            self._waiting -= self._blocks.popleft().size
        head.extend(self._blocks)
        self._blocks = head


def _character_from(data: bytes, at: int) -> int:
    """Returns the place of the first character that begins at this place or after it."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at
