"""Tests what is read of processes, with the process of the test itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from benchmarks.processor import megabytes_of, postmaster_of, seconds_of, seconds_of_family

from tenax.store.connect import connect

BUSY = "import os\nwhile os.times().user < 0.2: pass"


def test_a_child_that_has_ended_counts_for_the_family_and_not_for_the_process():
    alone, family = seconds_of(os.getpid()), seconds_of_family(os.getpid())
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert seconds_of_family(os.getpid()) - family >= 0.15
    assert seconds_of(os.getpid()) - alone < 0.15


def test_the_memory_of_a_process_in_megabytes():
    assert 5 < megabytes_of(os.getpid()) <= megabytes_of(os.getpid(), "VmHWM")
    with pytest.raises(ProcessLookupError):
        megabytes_of(os.getpid(), "Nothing")


def test_the_postmaster_is_found_from_any_connection(database_url):
    async def found():
        connections = [await connect(database_url) for _ in range(2)]
        try:
            return [await postmaster_of(connection) for connection in connections]
        finally:
            for connection in connections:
                await connection.close()

    first, second = asyncio.run(found())
    assert first == second
    assert seconds_of_family(first) > 0
