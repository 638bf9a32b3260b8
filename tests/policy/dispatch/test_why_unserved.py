"""Tests the words for why no worker takes an item: its first requirement that no live worker meets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenax.policy.dispatch.why_unserved import LiveWorker, Want, why_unserved

FINE = LiveWorker("w1", ("default",), ("python",), {"zone": "a"}, "active", "healthy")
PLAIN = Want("default", "python", {})
FIVE_PAUSED = ", ".join(f"w{n} is paused" for n in range(5))


def server(name: str = "w1", **changes: object) -> LiveWorker:
    return replace(FINE, name=name, **changes)


@pytest.mark.parametrize(
    ("want", "live"),
    [
        (PLAIN, [server()]),
        (Want("default", "python", {"zone": "a"}), [server(labels={}), server("w2")]),
        (PLAIN, [server(health="degraded")]),
        (PLAIN, [server(state="paused"), server("w2", health="unhealthy"), server("w3")]),
    ],
)
def test_someone_able_is_there(want, live):
    assert why_unserved(want, live) is None


@pytest.mark.parametrize(
    ("want", "live", "why"),
    [
        (PLAIN, [], "no worker is live"),
        (
            Want("default", "process", {}),
            [server()],
            "no live worker has the runtime process (queue default)",
        ),
        (
            Want("mail", "python", {}),
            [server(), server("w2", queues=("mail",), runtimes=("http",))],
            "no live worker with the runtime python serves the queue mail",
        ),
        (
            Want("default", "python", {"zone": "b", "gpu": "yes"}),
            [server(), server("w2", labels={"gpu": "yes"})],
            "no live worker of the queue default with the runtime python has the labels gpu=yes, zone=b",
        ),
        (PLAIN, [server(state="paused")], "no worker that is able to run it takes work: w1 is paused"),
        (
            PLAIN,
            [server(health="unhealthy"), server("w2", state="draining", health="unhealthy")],
            "no worker that is able to run it takes work: w1 is unhealthy, w2 is draining",
        ),
        (
            PLAIN,
            [server(f"w{n}", state="paused") for n in range(7)],
            f"no worker that is able to run it takes work: {FIVE_PAUSED} and 2 more",
        ),
    ],
)
def test_nobody_able_is_there(want, live, why):
    assert why_unserved(want, live) == why
