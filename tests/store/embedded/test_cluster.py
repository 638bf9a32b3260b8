"""Tests how a server is started and waited for, and how its files are written."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.waiting import eventually

from tenax.store.embedded import cluster as embedded_cluster
from tenax.store.embedded import postmaster
from tenax.store.embedded.location import ClusterPlace, find_place

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")


def test_a_server_that_recovers_is_waited_for_and_not_stopped(tmp_path, monkeypatch, caplog):
    """Only its lock file and its socket are looked at, so these are enough of a server."""
    monkeypatch.setattr(embedded_cluster, "_SLOW_START_SECONDS", 0.0)
    lock_file = "1\n\n\n\n" + str(tmp_path) + "\n\n\n{}\n"
    (tmp_path / "postmaster.pid").write_text(lock_file.format("starting"))
    with socket.socket(socket.AF_UNIX) as listening, ThreadPoolExecutor() as pool:
        listening.bind(str(tmp_path / f".s.PGSQL.{postmaster.PORT}"))
        listening.listen(1000)
        waiting = pool.submit(embedded_cluster.wait_until_ready, tmp_path)
        eventually(lambda: caplog.records)
        assert not waiting.done()
        # In one go, as PostgreSQL does it: a file that is empty for a moment would be one that is gone.
        (tmp_path / "ready").write_text(lock_file.format("ready"))
        (tmp_path / "ready").rename(tmp_path / "postmaster.pid")
        assert waiting.result(20)


@as_root
def test_a_link_in_the_data_leads_root_nowhere(open_folder):
    """Folders of PostgreSQL's account may be full of traps. Root writes new files there, and follows no link."""
    account = find_place(open_folder / "home").account
    data, victim = open_folder / "18", open_folder / "victim"
    victim.write_text("root's own")
    data.mkdir()
    traps: list[Path] = []
    opened = os.open

    def trap(path, *rest, **more):
        traps.append(Path(path))
        traps[-1].symlink_to(victim)
        return opened(path, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", trap)
        with pytest.raises(FileExistsError):
            embedded_cluster._write(ClusterPlace(open_folder, account), data / "tenax.conf", "x = 1\n")
    assert (victim.read_text(), victim.stat().st_uid) == ("root's own", 0)
    assert len(traps) == 1
    embedded_cluster._write(ClusterPlace(open_folder, account), data / "tenax.conf", "x = 1\n")
    assert (data / "tenax.conf").read_text() == "x = 1\n"
    assert (data / "tenax.conf").stat().st_uid == account.uid
    assert {path.name for path in data.iterdir()} <= {"tenax.conf", traps[0].name}
