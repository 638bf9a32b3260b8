"""Tests the names of workers: which are valid, and to which token a name belongs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from tenax.errors import UsageError
from tenax.model.names import as_worker_name, worker_name_fault
from tenax.model.wire import OLDEST_WORKER, PROTOCOL, Registration
from tenax.settings import values as setting_values

GOOD = ["w", "host.example-4711", "a b", "Büro/3", "x" * 200, "a@b:c"]
BAD = ["", " ", " w", "w ", "a\nb", "a\rb", "a\tb", "a\0b", "a\x1b[31mb", "a\u2028b", "a\u200bb", "x" * 201]


@pytest.mark.parametrize("name", GOOD)
def test_good_names(name: str) -> None:
    assert worker_name_fault(name) is None
    assert setting_values.worker_name(name) == as_worker_name(name) == name


@pytest.mark.parametrize("name", BAD)
def test_bad_names_are_refused_wherever_a_worker_says_its_own(standing, name: str) -> None:
    assert worker_name_fault(name) is not None
    assert worker_name_fault(as_worker_name(name)) is None
    bodies = {
        "register": registration(name),
        "lease": {"worker": name, "grant": str(uuid4()), "slots": 1, "runtimes": [], "wait": 0},
        "heartbeat": {"worker": name},
        "ended": {"worker": name, "life": str(uuid4())},
    }
    with standing.http() as http:
        for verb, body in bodies.items():
            answer = http.post(f"/v1/worker/{verb}", json=body)
            assert answer.status_code == 422, (verb, answer.text)
            assert "worker" in answer.text


def test_the_settings_refuse_them_too() -> None:
    with pytest.raises(ValueError, match="is not the name of a worker"):
        setting_values.worker_name("a\nb")


async def test_so_does_the_engine_itself(hand_of_names) -> None:
    with pytest.raises(UsageError, match="is not the name of a worker"):
        await hand_of_names.engine.register(Registration("a\nb", ("python",)))


@pytest.fixture
def hand_of_names(database_url: str, tmp_path):
    from support.hand import hand_on

    return hand_on(database_url, tmp_path)


def registration(name: str = "w", **more: Any) -> dict[str, Any]:
    return {"worker": name, "runtimes": ["python"], "life": str(uuid4()), "protocol": PROTOCOL, **more}


def register(server: Any, token: str | None, name: str = "w", **more: Any) -> Any:
    with server.http(token) as http:
        return http.post("/v1/worker/register", json=registration(name, **more))


def test_a_name_belongs_to_the_token_that_registered_it(server) -> None:
    mine, yours, operator = (
        server.token("worker", "mine"),
        server.token("worker", "yours"),
        server.token("operator"),
    )
    assert register(server, mine).status_code == 200
    refused = register(server, yours)
    assert refused.status_code == 409
    assert refused.json()["title"] == (
        "the name w belongs to the token 'mine', by which a worker has registered under it"
    )
    assert "tenax workers release w" in refused.json()["remedy"]
    assert register(server, mine).status_code == 200, "the next life of the same worker"
    with server.http(operator) as http:
        [worker] = http.get("/v1/workers").json()
        assert worker["name"] == "w"
        assert http.post("/v1/workers/w/release", json={"reason": "moved"}).json() == {
            "name": "w",
            "changed": True,
        }
        assert http.post("/v1/workers/w/release").json() == {"name": "w", "changed": False}
        assert http.post("/v1/workers/nobody/release").status_code == 404
    assert register(server, yours).status_code == 200
    assert register(server, mine).status_code == 409
    with server.http(operator) as http:
        happened = [event["data"] for event in http.get("/v1/workers/w").json()["events"]]
    assert {"action": "worker_release", "worker": "w", "actor": "a-operator", "reason": "moved"} in happened


def test_what_is_refused_changes_nothing(server) -> None:
    mine, yours = server.token("worker", "mine"), server.token("worker", "yours")
    life = str(uuid4())
    register(server, mine, life=life, version="1")
    register(server, yours, version="2")
    with server.http(mine) as http:
        beat = http.post("/v1/worker/heartbeat", json={"worker": "w", "life": life}).json()
    assert (beat["superseded"], beat["known"]) == (False, True)
    with server.http(server.token("viewer")) as http:
        seen = http.get("/v1/workers/w").json()
    assert seen["version"] == "1"
    assert [event["type"] for event in seen["events"]] == ["worker_registered"]


def test_the_name_of_a_revoked_token_is_free(server) -> None:
    mine, yours = server.token("worker", "mine"), server.token("worker", "yours")
    register(server, mine)
    with server.http(server.token("admin")) as http:
        [token] = [one for one in http.get("/v1/tokens").json() if one["name"] == "mine"]
        http.post(f"/v1/tokens/{token['id']}/revoke")
    assert register(server, yours).status_code == 200


def test_of_two_that_come_at_once_one_has_the_name(server) -> None:
    tokens = [server.token("worker", f"t{number}") for number in range(6)]
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda token: register(server, token).status_code, tokens))
    assert sorted(answers) == [200, *[409] * 5]


def test_nobody_gets_work_in_the_name_of_another(server) -> None:
    """The life of a worker is known to itself alone: a request without it is not answered with work."""
    server.token("admin")
    mine, yours, operator = (
        server.token("worker", "mine"),
        server.token("worker", "yours"),
        server.token("operator"),
    )
    life = str(uuid4())
    register(server, mine, life=life)
    with server.http(operator) as http:
        http.post(
            "/v1/executions", json={"source": "name: x\nworkflow: [{step: a, type: python, task: t}]\n"}
        )
    wish = {"worker": "w", "slots": 1, "runtimes": ["python"], "wait": 0.1}
    with server.http(operator) as http:
        http.post("/v1/workers/w/resume")  # by now this server knows how it stands
    with server.http(yours) as http:
        assert http.post("/v1/worker/lease", json={**wish, "grant": str(uuid4())}).json() == []
    with server.http(mine) as http:
        assert (
            len(http.post("/v1/worker/lease", json={**wish, "grant": str(uuid4()), "life": life}).json()) == 1
        )


@pytest.mark.parametrize("protocol", [None, 0, OLDEST_WORKER - 1])
def test_a_worker_that_is_too_old_is_refused_and_told_why(server, protocol: int | None) -> None:
    body = registration()
    body = {name: value for name, value in body.items() if name != "protocol"}
    with server.http() as http:
        answer = http.post(
            "/v1/worker/register", json=body if protocol is None else {**body, "protocol": protocol}
        )
        assert answer.status_code == 409
        assert f"this server needs {OLDEST_WORKER} or newer" in answer.json()["title"]
        assert "install the server's version of Tenax" in answer.json()["remedy"]
        assert http.get("/v1/workers").json() == []


def test_one_that_registered_with_an_earlier_server_is_told_to_come_again(server) -> None:
    """Its heartbeat is not known any more, so it registers, and hears what is wrong. It gets no work until then."""
    body = registration(queues=["q"])
    source = "name: x\nworkflow: [{step: a, type: python, task: t, queue: q}]\n"
    with server.http() as http:
        http.post("/v1/worker/register", json=body)
        server.execute("update tenax.worker set protocol = 1")
        http.post("/v1/workers/w/resume")
        server.execute("update tenax.worker set protocol = 1")
        beat = http.post("/v1/worker/heartbeat", json={"worker": "w", "life": body["life"]}).json()
        assert beat["known"] is False
        http.post("/v1/workers/w/pause")
        http.post("/v1/workers/w/resume")
        http.post("/v1/executions", json={"source": source})
        wish = {
            "worker": "w",
            "slots": 1,
            "runtimes": ["python"],
            "queues": ["q"],
            "life": body["life"],
            "wait": 0.1,
        }
        assert http.post("/v1/worker/lease", json={**wish, "grant": str(uuid4())}).json() == []


def test_newer_ones_are_taken(server) -> None:
    answer = register(server, None, protocol=PROTOCOL + 5)
    assert answer.status_code == 200
    assert answer.json()["protocol"] == PROTOCOL


def test_a_default_name_is_a_good_one() -> None:
    assert as_worker_name("host\n-4711") == "host--4711"
    assert as_worker_name(" ") == "worker"
