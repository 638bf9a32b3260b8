"""Packs and actions over HTTP: the real client and a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import msgspec
import pytest
from support.packs import MYPACK, echo, packed

from tenax.errors import Forbidden, InvalidDefinition, InvalidInput, NotFound, TooLarge, UsageError
from tenax.model.packs.views import InstalledPackAnswer, PackActionInfo, PackInfo, RemovedPack
from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient
from tenax.store.fleet.tokens import ROLES
from tenax.worker.transport import HttpTransport

TAR = {"content-type": "application/x-tar"}


def against(kind: Any, value: Any) -> None:
    assert msgspec.to_builtins(msgspec.convert(value, kind)) == value


def test_packs_are_installed_listed_shown_and_removed(server: Any) -> None:
    with SyncClient(server.url) as client:
        installed = client.install_pack(packed(MYPACK), folder="mypack")
        against(InstalledPackAnswer, installed)
        assert (installed["name"], installed["created"]) == ("mypack", True)
        [listed] = client.packs()
        against(PackInfo, listed)
        assert client.pack("mypack") == listed
        assert listed["installed_by"] == "anonymous@loopback"
        [action] = client.actions()
        against(PackActionInfo, action)
        assert client.action("mypack.flaky_api_call") == action
        assert (action["timeout"], action["max_attempts"], action["parameters"]["url"]["required"]) == (
            120,
            4,
            True,
        )
        assert client.actions("mypack") == [action]
        removed = client.remove_pack("mypack")
        against(RemovedPack, removed)
        assert (client.packs(), client.actions()) == ([], [])
        for call in (lambda: client.pack("mypack"), lambda: client.remove_pack("mypack")):
            with pytest.raises(NotFound, match="there is no pack named 'mypack'"):
                call()
        for ref, error in [("mypack.flaky_api_call", NotFound), ("nodot", UsageError)]:
            with pytest.raises(error):
                client.action(ref)


def test_an_action_runs_as_an_execution_of_its_own(server: Any) -> None:
    with SyncClient(server.url) as client:
        client.install_pack(packed(MYPACK), folder="mypack")
        started = client.run_action("mypack.flaky_api_call", {"url": "http://x"}, key="k")
        found = client.get(started["id"])
        assert (found["workflow"], found["input"]) == ("mypack.flaky_api_call", {"url": "http://x"})
        again = client.run_action("mypack.flaky_api_call", {"url": "http://x"}, key="k")
        assert again == {"id": started["id"], "created": False}
        with pytest.raises(InvalidInput, match="url: required, but not given"):
            client.run_action("mypack.flaky_api_call")
        with pytest.raises(NotFound, match="did you mean `flaky_api_call`"):
            client.run_action("mypack.flaky_api_cal")


def test_the_request_of_attune_with_a_real_action(server: Any) -> None:
    """The `curl` of Attune's document, as it is printed there."""
    with SyncClient(server.url) as client, server.http() as http:
        client.install_pack(packed(echo("hello", parameters="{message: {type: string}}")), folder="core")
        body = {"action_ref": "core.say", "parameters": {"message": "retry test"}}
        answer = http.post("/api/v1/executions", json=body)
        assert answer.status_code == 201
        data = answer.json()["data"]
        found = client.get(data["id"])
        assert (found["workflow"], found["input"]) == ("core.say", {"message": "retry test"})
        client.cancel(data["id"])
        config = {"retry_of": data["id"], "retry_count": 1, "max_retries": 3, "retry_reason": "manual_retry"}
        again = http.post("/api/v1/executions", json={**body, "config": config})
        assert again.json()["data"]["original_execution"] == data["id"]
        assert http.post("/api/v1/executions", json={"action_ref": "core.nay"}).status_code == 404


def test_wrong_packs_are_refused_with_their_reasons(start: Any) -> None:
    server = start(max_pack=5_000)
    with SyncClient(server.url) as client:
        with pytest.raises(InvalidDefinition, match=r"actions/a\.yaml:1:1"):
            client.install_pack(packed({"actions/a.yaml": "name: a"}), folder="p")
        with pytest.raises(TooLarge, match=r"at most 5,000 bytes in its files \(max_pack\)"):
            client.install_pack(packed({**MYPACK, "x": b"x" * 5_000}), folder="p")
        with pytest.raises(InvalidInput, match="not a readable archive"):
            client.install_pack(b"nothing", folder="p")
        with pytest.raises(InvalidInput, match="has no name"):
            client.install_pack(packed(MYPACK))
        assert client.packs() == []
    with server.http() as http:
        refused = http.post("/v1/packs", json={})
        assert (refused.status_code, "application/x-tar" in refused.text) == (415, True)
        assert http.post("/v1/packs?nme=x", content=packed(MYPACK), headers=TAR).status_code == 400
        large = http.post("/v1/packs?folder=p", content=b"x" * 30_000_000, headers=TAR)
        assert (large.status_code, "max_pack" in large.text) == (413, True)


def test_a_pack_may_be_larger_than_other_bodies(start: Any) -> None:
    server = start(max_body=100_000)
    archive = packed({**MYPACK, "data": b"\7" * 3_000_000})

    async def fetched(content: str) -> bytes:
        transport = HttpTransport(server.url)
        parts: list[bytes] = []
        while part := await transport.pack_chunk(content, len(parts)):
            parts.append(part)
        with pytest.raises(NotFound):
            await transport.pack_chunk("0" * 64, 0)
        await transport.close()
        return b"".join(parts)

    with SyncClient(server.url) as client:
        installed = client.install_pack(archive, folder="mypack")
    assert asyncio.run(fetched(installed["hash"])) == archive


def test_only_admins_install_and_remove_packs(start: Any) -> None:
    server = start(open=False)
    archive = packed(MYPACK)
    tokens = {role: server.token(role) for role in ROLES}

    async def go() -> None:
        for role in ("operator", "viewer", "worker"):
            async with Client(server.url, tokens[role]) as client:
                with pytest.raises(Forbidden):
                    await client.install_pack(archive, folder="mypack")
                with pytest.raises(Forbidden):
                    await client.remove_pack("mypack")
        async with Client(server.url, tokens["admin"]) as client:
            installed = await client.install_pack(archive, folder="mypack")
        async with Client(server.url, tokens["operator"]) as client:
            assert (await client.run_action("mypack.flaky_api_call", {"url": "x"}))["created"]
        async with Client(server.url, tokens["viewer"]) as client:
            assert [one["name"] for one in await client.packs()] == ["mypack"]
            with pytest.raises(Forbidden):
                await client.run_action("mypack.flaky_api_call", {"url": "x"})
        worker = HttpTransport(server.url, tokens["worker"])
        assert await worker.pack_chunk(installed["hash"], 0)
        viewer = HttpTransport(server.url, tokens["viewer"])
        with pytest.raises(Forbidden):
            await viewer.pack_chunk(installed["hash"], 0)
        await worker.close()
        await viewer.close()

    asyncio.run(go())


def test_a_worker_without_a_content_hears_it(server: Any) -> None:
    with server.http() as http:
        for path, status in [
            (f"{'0' * 64}/chunks/0", 404),
            ("x/chunks/0", 422),
            (f"{'0' * 64}/chunks/-1", 422),
        ]:
            found: httpx2.Response = http.get(f"/v1/worker/packs/{path}")
            assert found.status_code in (status, 400)
