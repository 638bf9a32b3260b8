"""The request of a failed attempt is shown with its failure: rendered, without secrets, and cut."""

from __future__ import annotations

from support.serve.server_in_memory import Server, work

from tenax.worker.handlers.shown_request import HIDDEN, LARGEST, LONGEST_TEXT, shown_request


def test_each_runtime_shows_what_matters(assign):
    http = assign(
        "http", {"method": "POST", "url": "http://shop.test/orders?x=1", "json": {"id": 7}, "async": None}
    )
    assert shown_request(http) == {"method": "POST", "url": "http://shop.test/orders?x=1", "json": {"id": 7}}
    process = assign("process", {"command": "backup.sh", "env": {"LEVEL": "3"}})
    assert shown_request(process) == {"command": "backup.sh", "env": {"LEVEL": "3"}}
    python = assign("python", {"task": "shop:charge", "args": {"order": 7}})
    assert shown_request(python) == {"task": "shop:charge", "args": {"order": 7}}
    agent = assign("agent", {"prompt": "Write it.", "tier": "legionary", "command": None})
    assert shown_request(agent) == {"tier": "legionary", "prompt": "Write it."}
    action = assign("action", {"action": "disk.free", "params": {"path": "/"}, "pack": "{}"})
    assert shown_request(action) == {"action": "disk.free", "params": {"path": "/"}}


def test_secrets_are_shown_by_their_names(assign):
    secrets = ((("headers", "X-Key"), ("key ", {"secret": "api"})),)
    assignment = assign("http", {"url": "http://shop.test", "headers": {"X-Key": None}}, secrets=secrets)
    assert shown_request(assignment)["headers"] == {"X-Key": "key [secret api]"}
    assert assignment.spec["headers"] == {"X-Key": None}


def test_confidential_names_and_users_of_urls_are_hidden(assign):
    spec = {
        "url": "http://ann:pass@shop.test/",
        "headers": {"Authorization": "Basic x", "accept": "text/plain"},
        "json": {"deep": [{"api_key": "x", "amount": 3}]},
    }
    shown = shown_request(assign("http", spec))
    assert shown["url"] == "http://shop.test/"
    assert shown["headers"] == {"Authorization": HIDDEN, "accept": "text/plain"}
    assert shown["json"] == {"deep": [{"api_key": HIDDEN, "amount": 3}]}


def test_it_is_cut(assign):
    shown = shown_request(assign("python", {"task": "t", "args": {"text": "x" * 5000}}))
    assert shown["args"]["text"] == f"{'x' * LONGEST_TEXT} [{5000 - LONGEST_TEXT} characters more]"
    shown = shown_request(assign("python", {"task": "t", "args": list(range(10_000))}))
    assert isinstance(shown["args"], str)
    assert len(shown["args"]) < LARGEST


def test_only_failures_have_it(register, quick):
    def fails(key: str) -> None:
        raise ConnectionError(key)

    async def scenario(stop, at_once, running):
        await server.until(lambda: {1, 2} <= set(server.outcomes))

    spec = {"task": register("fails", fails), "args": {"key": None}}
    secrets = ((("args", "key"), ({"secret": "key"},)),)
    server = Server([{"item": 1, "spec": spec, "secrets": secrets}, {"item": 2, "task": quick}])
    work(server, scenario, environment={"TENAX_SECRET_KEY": "hunter2hunter2"})
    facts = server.outcomes[1].facts
    assert facts is not None
    assert facts.request == {"task": "fails", "args": {"key": "[secret key]"}}
    assert server.outcomes[2].facts is None
