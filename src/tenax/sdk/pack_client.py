"""Calls the server for packs of actions: installs, lists, shows and removes packs, and runs an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

from tenax.sdk.operator_client import OperatorClient


class PackClient(OperatorClient):
    """Has the methods of a client that are for packs."""

    async def install_pack(self, archive: bytes, *, folder: str | None = None) -> dict[str, Any]:
        """Installs a pack from an uncompressed tar of its folder. `folder` is its name if its `pack.yaml` says none."""
        answer = await self._call("POST", "/v1/packs", body=archive, query={"folder": folder})
        return cast("dict[str, Any]", answer)

    async def packs(self) -> Any:
        """Lists the installed packs."""
        return await self._call("GET", "/v1/packs")

    async def pack(self, name: str) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._call("GET", _pack(name)))

    async def remove_pack(self, name: str) -> dict[str, Any]:
        """Removes a pack. Executions that use it keep its content."""
        return cast("dict[str, Any]", await self._call("DELETE", _pack(name)))

    async def actions(self, pack: str | None = None) -> Any:
        """Lists the actions of the installed packs, or of one."""
        return await self._call("GET", "/v1/actions", query={"pack": pack})

    async def action(self, ref: str) -> dict[str, Any]:
        """Returns the action PACK.ACTION with its parameters."""
        return cast("dict[str, Any]", await self._call("GET", _action(ref)))

    async def run_action(
        self, ref: str, params: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> dict[str, Any]:
        """Runs the action PACK.ACTION as an execution of its own. Returns its `id`, and whether it was `created`."""
        body = {"params": dict(params or {}), "key": key}
        return cast("dict[str, Any]", await self._call("POST", f"{_action(ref)}/run", body=body))


def _pack(name: str) -> str:
    return f"/v1/packs/{quote(name, safe='')}"


def _action(ref: str) -> str:
    return f"/v1/actions/{quote(ref, safe='')}"
