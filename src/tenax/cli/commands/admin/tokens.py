"""Creates, lists and revokes tokens, in the database or, with the token of an admin, over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Protocol

from cyclopts import App, Parameter

from tenax.cli.backend.protocol import run_async, user_name
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.output import new_table, print_json, say, show
from tenax.cli.process.home import announce_new_database
from tenax.drawing.text_lines import one_line
from tenax.errors import NotFound
from tenax.model.events import timestamp
from tenax.sdk.client import Client
from tenax.settings.server_token import token_for
from tenax.store.connect import Connection, Database
from tenax.store.fleet import tokens
from tenax.store.fleet.tokens import Role, Token
from tenax.store.transaction import transaction

token = App(name="token", help="Create, list or revoke tokens.")

_WITHOUT = "a server makes one for its user when it starts; with --open it accepts everyone on its machine"
Shown = dict[str, Any]
"""A token as JSON, without its secret."""


@token.command
def create(
    name: Annotated[str, Parameter(help="The owner of the token, for lists and logs.")],
    /,
    *,
    role: Annotated[Role, Parameter(help="The role, which says what the token allows.")],
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Create a token and print its secret. It cannot be printed again, since only its hash is stored."""
    made = run_async(_created(where, name, role))
    if json:
        print_json(made)
    else:
        say(made["token"])


async def _created(where: TargetFlags, name: str, role: Role) -> Shown:
    async with _open(where) as access:
        return await access.create(name, role)


@token.command(name="list")
def list_(
    *,
    all: Annotated[bool, Parameter(name="--all", help="List the revoked tokens too.")] = False,  # noqa: A002 -- the flag's name
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the valid tokens, without their secrets."""
    known = run_async(_listed(where))
    found = [one for one in known if all or one["revoked_at"] is None]
    if json:
        print_json(found)
    elif found:
        show(_table(found))
    elif known:
        say(f"no valid tokens (--all lists the revoked ones): {_WITHOUT}")
    else:
        say(f"no tokens: {_WITHOUT}")


async def _listed(where: TargetFlags) -> Sequence[Shown]:
    async with _open(where) as access:
        return await access.list()


@token.command
def revoke(
    which: Annotated[str, Parameter(name="ID_OR_NAME", help="The id or the name of a token.")],
    /,
    *,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Revoke a token: servers refuse it within seconds."""
    revoked = run_async(_revoked(where, which))
    if json:
        print_json(revoked)
    else:
        say("\n".join(f"token {one['id']} ({one['name']}) is revoked" for one in revoked))


async def _revoked(where: TargetFlags, which: str) -> Sequence[Shown]:
    async with _open(where) as access:
        return await access.revoke(which)


def _table(found: Sequence[Shown]) -> Any:
    from rich.text import Text

    table = new_table("id", "name", "role", "created", "revoked", right=("id",))
    for one in found:
        cells = (str(one["id"]), one["name"], one["role"], one["created_at"], one["revoked_at"] or "-")
        style = "dim" if one["revoked_at"] else ""
        table.add_row(*(Text(one_line(cell), style=style) for cell in cells))
    return table


class _TokenAccess(Protocol):
    """Gives access to the tokens: in the database, or through a server."""

    async def create(self, name: str, role: Role) -> Shown: ...

    async def list(self) -> Sequence[Shown]: ...

    async def revoke(self, which: str) -> Sequence[Shown]: ...


class _TokensOverHttp:
    def __init__(self, client: Client, where: TargetFlags) -> None:
        self._client = client
        self._where = where

    async def create(self, name: str, role: Role) -> Shown:
        return await self._client.create_token(name, role)

    async def list(self) -> Sequence[Shown]:
        return list(await self._client.list_tokens())

    async def revoke(self, which: str) -> Sequence[Shown]:
        """Revokes by id, since the API takes ids only. A name means the live tokens, since revoked ones may have the same name."""
        ids = [
            one["id"]
            for one in await self._client.list_tokens()
            if str(one["id"]) == which or (one["name"] == which and one["revoked_at"] is None)
        ]
        if not ids:
            raise NotFound(
                f"there is no token {which!r}",
                remedy=f"`{self._where.command('token', 'list')}` shows the tokens there are",
            )
        return [one for token_id in ids for one in await self._client.revoke_token(token_id)]


class _TokensInDatabase:
    def __init__(self, tx: Connection) -> None:
        self._tx = tx

    async def create(self, name: str, role: Role) -> Shown:
        number, secret = await tokens.create_token(self._tx, name, role, actor=user_name())
        return {"id": number, "name": name, "role": role, "token": secret}

    async def list(self) -> Sequence[Shown]:
        return [_as_json(one) for one in await tokens.list_tokens(self._tx)]

    async def revoke(self, which: str) -> Sequence[Shown]:
        return [_as_json(one) for one in await tokens.revoke_token(self._tx, which, actor=user_name())]


def _as_json(one: Token) -> Shown:
    return {
        "id": one.id,
        "name": one.name,
        "role": one.role,
        "created_at": timestamp(one.created_at),
        "revoked_at": timestamp(one.revoked_at),
    }


@contextlib.asynccontextmanager
async def _open(where: TargetFlags) -> AsyncIterator[_TokenAccess]:
    settings = where.settings()
    if settings.server and (where.server or settings.database_url is None):
        async with Client(settings.server, token_for(settings, settings.server)) as client:
            yield _TokensOverHttp(client, where)
        return
    announce_new_database(settings)
    async with Database.open(settings, max_size=1) as database, transaction(database) as tx:
        yield _TokensInDatabase(tx)
