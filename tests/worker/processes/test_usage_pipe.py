"""Tests the pipe on which programs tell their usage."""

from __future__ import annotations

import os

from support.strategies.hostile_strategies import no_hang

from tenax.model.attempt.outcome import Usage
from tenax.worker.processes.usage_pipe import UsagePipe

LINE = b'{"tokens": 1}\n'


async def test_what_is_left_in_the_pipe_is_read_when_it_is_closed():
    told: list[Usage] = []
    pipe = UsagePipe(told.append)
    os.write(pipe.fd, LINE * 4_000 + b'{"tokens": 7}\n')
    pipe.close()
    assert told[-1] == Usage(None, 7)


async def test_a_process_that_outlives_its_attempt_and_goes_on_telling_is_not_waited_for():
    told: list[Usage] = []

    def tell_more(usage: Usage) -> None:
        told.append(usage)
        os.write(others, LINE)  # there is always more to read

    pipe = UsagePipe(tell_more)
    others = os.dup(pipe.fd)
    os.write(others, LINE)
    with no_hang(10):
        pipe.close()
    os.close(others)
    assert len(told) > 1
