"""The plugin in runs of its own: with plugins for asyncio and without, in parallel, and with nothing left afterwards."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TASKS = """
from tenax import task

CHARGED = []

@task
def charge(order):
    CHARGED.append(order)
    return {"receipt": order}
"""
ORDER = '''
ORDER = """
name: order
workflow:
  - {step: charge, type: python, task: "mytasks:charge", args: [7], retry: {max_attempts: 3, initial_delay: 1h, jitter: 0, max_delay: 1d}}
"""
'''
FOLDER = """
import os
from urllib.parse import parse_qs, urlsplit

def note_folder(tenax):
    host = parse_qs(urlsplit(tenax.database_url).query)["host"][0]
    with open(os.environ["NOTED"], "a") as file:
        print(host, file=file)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Has tasks and a workflow. Runs in it do not know of the run that they are part of."""
    for name in [name for name in os.environ if name.startswith(("PYTEST_XDIST", "TENAX_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NOTED", str(pytester.path / "noted"))
    pytester.makepyfile(mytasks=TASKS, order=ORDER, folder=FOLDER)
    pytester.makeini("[pytest]\npythonpath = .\n")
    return pytester


def _run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return suite.runpytest_subprocess("-p", "no:cacheprovider", *arguments, timeout=120)


def test_plain_tests_without_a_plugin_for_asyncio(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        from mytasks import charge
        from order import ORDER
        from tenax.testing import completed

        def test_a_task(tenax):
            assert tenax.run(charge, 7).result == {"receipt": 7}

        def test_hours_pass(tenax):
            tenax.fail(charge, attempt=[1, 2], error=ConnectionError())
            execution = tenax.run(ORDER)
            assert execution == completed
            execution.assert_delays("charge", [3600, 7200])

        @pytest.mark.parametrize("n", range(3))
        def test_many(tenax, n):
            assert tenax.run(ORDER).id == 1
    """)
    _run(suite, "-p", "no:asyncio", "-p", "no:anyio", "-W", "error").assert_outcomes(passed=5)


ASYNC = """
    import asyncio
    import pytest
    from mytasks import charge
    from order import ORDER
    from tenax.testing import completed

    {mark}
    async def test_the_loop_goes_on(tenax):
        beats = []

        async def beat():
            while True:
                beats.append(1)
                await asyncio.sleep(0)

        beating = asyncio.create_task(beat())
        tenax.fail("charge", status_code=503)
        execution = await tenax.aio.run(ORDER)
        beating.cancel()
        assert execution == completed
        assert len(beats) > 10
        execution.assert_events("step_retry", "action_completed")

    {mark}
    async def test_blocking_methods_work_too(tenax):
        assert tenax.run(charge, 7).result == {{"receipt": 7}}
        assert (await tenax.aio.get(1)).status == "completed"
"""


@pytest.mark.parametrize(
    ("mark", "options"),
    [
        ("@pytest.mark.asyncio", ["-p", "no:anyio", "-o", "asyncio_default_fixture_loop_scope=function"]),
        ("@pytest.mark.anyio", ["-p", "no:asyncio"]),
    ],
    ids=["asyncio", "anyio"],
)
def test_tests_that_are_coroutines(suite: pytest.Pytester, mark: str, options: list[str]) -> None:
    suite.makeconftest("import pytest\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n")
    suite.makepyfile(ASYNC.format(mark=mark))
    _run(suite, *options, "-W", "error").assert_outcomes(passed=2)


def test_two_processes_share_one_server_and_leave_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        from folder import note_folder
        from order import ORDER

        @pytest.mark.parametrize("n", range(6))
        def test_many(tenax, n, worker_id):
            note_folder(tenax)
            assert tenax.run(ORDER).id == 1
    """)
    _run(suite, "-n", "2", "--dist", "each").assert_outcomes(passed=12)
    [socket] = {Path(line) for line in (suite.path / "noted").read_text().split()}
    _assert_gone(socket)


def test_a_run_that_is_killed_leaves_nothing_after_the_next_one(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import os, signal
        from folder import note_folder

        def test_it(tenax):
            note_folder(tenax)
            if not os.path.exists("killed"):
                open("killed", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
    """)
    killed = subprocess.run(
        [sys.executable, "-m", "pytest"], cwd=suite.path, check=False, capture_output=True
    )
    assert killed.returncode == -9
    _run(suite).assert_outcomes(passed=1)
    for line in (suite.path / "noted").read_text().split():
        _assert_gone(Path(line))


def _assert_gone(socket: Path) -> None:
    """Checks that neither the folder of the run is there nor a process that uses it."""
    folder = next(path for path in (socket, *socket.parents) if path.name.startswith("tenax-pytest-"))
    assert not folder.exists()
    using = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(folder) in _read(path)]
    assert using == []


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""  # it has ended meanwhile


def test_another_server_is_left_as_it_was(suite: pytest.Pytester, embedded_server: str) -> None:
    suite.makepyfile("""
        from order import ORDER

        def test_it(tenax):
            assert tenax.run(ORDER).id == 1
            assert "/tenax_test_" in tenax.database_url

        def test_with_a_table(tenax):
            import asyncio, asyncpg

            async def make():
                connection = await asyncpg.connect(tenax.database_url)
                await connection.execute("create table orders ()")
                await connection.close()

            asyncio.run(make())

        def test_without_it(tenax):
            assert tenax.run(ORDER).id == 1
    """)
    _run(suite, f"--tenax-database={embedded_server}").assert_outcomes(passed=3)
    listed = subprocess.run(
        [sys.executable, "-c", _LIST, embedded_server], capture_output=True, text=True, check=True
    )
    assert "tenax_test_" not in listed.stdout


_LIST = """
import asyncio, asyncpg, sys

async def list_databases():
    connection = await asyncpg.connect(sys.argv[1])
    print([row[0] for row in await connection.fetch("select datname from pg_database")])
    await connection.close()

asyncio.run(list_databases())
"""


def test_what_failed_tests_say(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        from order import ORDER
        from tenax.testing import completed

        def test_compared(tenax):
            tenax.fail("charge", attempt=None, status_code=503)
            assert tenax.run(ORDER) == completed

        def test_asserted(tenax):
            tenax.fail("charge")
            tenax.run(ORDER).assert_attempts("charge", 3)

        def test_events(tenax):
            tenax.run(ORDER).assert_events("action_started", "step_retry")

        def test_never_reached(tenax):
            tenax.fail("charge", attempt=2)
            tenax.run(ORDER)

        def test_plain(tenax):
            tenax.fail("charge", error=ValueError("no amount"))
            assert tenax.run(ORDER).status == "completed"
    """)
    result = _run(suite, "-p", "no:xdist")
    result.assert_outcomes(failed=5)
    compared, asserted, events, unreached, plain = re.split(r"\n_+ test_\w+ _+\n", result.stdout.str())[1:]
    assert "assert execution 1 is failed, and not completed" in compared
    assert "<execution 1 of order: failed>" in compared
    assert "3  +10800.000s  0s  failed  no retry: attempts used up" in compared
    assert "transient (http_503): the answer was 503" in compared
    assert "Decided by: attempts_exhausted" in compared
    assert "AssertionError: charge had 2 attempts, and not 3" in asserted
    assert asserted.count("execution 1 of order: completed in 1h") == 1, "the story is told once"
    assert "there is no event step_retry after action_started. The events:" in events
    assert "  action_completed charge attempt 1" in events
    assert "tenax.fail('charge', attempt=2) was never reached" in unreached
    assert "attempts that began on a worker: charge (mytasks:charge) attempt 1" in unreached
    assert "logical (exception_ValueError): ValueError: no amount" in plain


def test_settings_of_the_project(suite: pytest.Pytester) -> None:
    suite.makeconftest(
        "import pytest\n\n@pytest.fixture\ndef tenax_settings():\n    return {'lease': '7s'}\n"
    )
    suite.makeini("[pytest]\npythonpath = .\ntenax_timeout = 11\n")
    suite.makepyfile("""
        from order import ORDER

        def test_it(tenax):
            tenax.lose_worker("charge")
            before = tenax.now
            tenax.run(ORDER)
            assert (tenax.now - before).total_seconds() == 3600 + 7
            assert tenax.timeout == 11
    """)
    _run(suite).assert_outcomes(passed=1)


def test_a_run_without_the_fixture_imports_next_to_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import sys

        def test_it():
            found = {name for name in sys.modules if name.partition(".")[0] in ("tenax", "asyncpg", "pydantic", "msgspec")}
            assert found == {"tenax", "tenax.testing", "tenax.testing.plugin"}
    """)
    _run(suite).assert_outcomes(passed=1)
