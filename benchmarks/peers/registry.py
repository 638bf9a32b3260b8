"""Lists the peers, and how many jobs each gets. A slow peer gets fewer, so that a round stays short. Its rate stays the same."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.environments import CannotBeMade, Say, Version, python_of

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    share: float
    """The share of the no-op jobs of a round that the peer gets."""
    retried_share: float = 0.0
    """The share of the failing jobs of a round that the peer gets. With 0 it has no part in that measure.

    A fast peer needs many, because with few jobs the delays would be most of the time.
    """
    python: Version = (3, 11)
    program: str | None = None
    """A program that must be installed beside PostgreSQL, and that stores nothing durably."""

    @property
    def script(self) -> Path:
        return _FOLDER / f"{self.name}_bench.py"

    @property
    def requirements(self) -> Path:
        return _FOLDER / f"{self.name}.txt"

    @property
    def version(self) -> str:
        """Returns the pinned version."""
        found = re.search(rf"^{self.name}==([^ ;\\]+)", self.requirements.read_text(), re.MULTILINE)
        if found is None:
            raise ValueError(
                f"{self.requirements}: {self.name} is not pinned there; `make lock` writes the file"
            )
        return found[1]

    def note(self, jobs: int) -> str:
        return f"{self.version}, {jobs:,} jobs"


PGQUEUER = Peer("pgqueuer", share=0.5, retried_share=0.15)
PEERS = (
    PGQUEUER,
    Peer("procrastinate", share=0.05, retried_share=0.015),
    Peer("dbos", share=0.05, retried_share=0.015),
    Peer("oban", share=0.25, retried_share=0.25, python=(3, 12)),
    Peer("celery", share=0.125, program="redis-server"),
)


@dataclass(frozen=True, slots=True)
class ReadyPeer:
    """Is a peer whose environment is ready."""

    peer: Peer
    python: Path

    @property
    def name(self) -> str:
        return self.peer.name


async def ready(peers: Sequence[Peer], say: Say) -> list[ReadyPeer]:
    """Returns the peers that can run here. Reports for each other peer why it cannot."""
    found = []
    for peer in peers:
        try:
            found.append(await asyncio.to_thread(_ready, peer, say))
        except CannotBeMade as cause:
            say(left_out(peer, cause))
    return found


def left_out(peer: Peer, cause: CannotBeMade) -> str:
    return f"{peer.name} is left out: {cause}"


def _ready(peer: Peer, say: Say) -> ReadyPeer:
    if peer.program is not None and shutil.which(peer.program) is None:
        raise CannotBeMade(f"{peer.program}: it is not on PATH")
    return ReadyPeer(peer, python_of(peer.name, peer.requirements, peer.python, say))
