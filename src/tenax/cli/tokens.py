"""Tokens: who may speak to a server. They are made where its database can be reached, never over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

from cyclopts import App, Parameter

from tenax.cli.backend import run_async
from tenax.cli.flags import ANY_STORE, Json, Store
from tenax.cli.output import one_line, print_json, say, show
from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.settings import Settings
from tenax.store.connect import Connection, Database
from tenax.store.session import transaction
from tenax.store.tokens import Role, Token, create_token, list_tokens, revoke_token

token = App(name="token", help="Tokens: create, list, revoke.")

T = TypeVar("T")


@token.command
def create(
    name: Annotated[str, Parameter(help="Whose it is, for the list and the log.")],
    /,
    *,
    role: Annotated[Role, Parameter(help="What it may do.")],
    json: Json = False,
    store: Store = ANY_STORE,
) -> None:
    """Make a token and print its secret, once: only its hash is stored."""
    number, secret = run_async(_in_database(store, lambda tx: create_token(tx, name, role)))
    if json:
        print_json({"id": number, "name": name, "role": role, "token": secret})
    else:
        say(secret)


@token.command(name="list")
def list_(*, json: Json = False, store: Store = ANY_STORE) -> None:
    """List the tokens, without their secrets."""
    found = run_async(_in_database(store, list_tokens))
    if json:
        print_json([_as_json(one) for one in found])
    elif found:
        show(_table(found))
    else:
        say("no tokens: a server accepts anyone, and listens on loopback only")


@token.command
def revoke(
    which: Annotated[str, Parameter(name="ID_OR_NAME", help="Which one.")],
    /,
    *,
    json: Json = False,
    store: Store = ANY_STORE,
) -> None:
    """Revoke a token: servers refuse it within seconds."""
    revoked = run_async(_in_database(store, lambda tx: revoke_token(tx, which)))
    if json:
        print_json([_as_json(one) for one in revoked])
    else:
        say("\n".join(f"token {one.id} ({one.name}) is revoked" for one in revoked))


def _as_json(one: Token) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "role": one.role,
        "created_at": timestamp(one.created_at),
        "revoked_at": timestamp(one.revoked_at),
    }


def _table(found: Sequence[Token]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("id", "name", "role", "created", "revoked"):
        table.add_column(
            title, header_style="dim", justify="right" if title == "id" else "left", no_wrap=True
        )
    for one in found:
        times = (timestamp(one.created_at) or "", timestamp(one.revoked_at) or "-")
        style = "dim" if one.revoked_at else ""
        table.add_row(
            *(Text(one_line(cell), style=style) for cell in (str(one.id), one.name, one.role, *times))
        )
    return table


async def _in_database(store: Store, work: Callable[[Connection], Awaitable[T]]) -> T:
    async with Database.open(_local(store.settings()), max_size=1) as database, transaction(database) as tx:
        return await work(tx)


def _local(settings: Settings) -> Settings:
    """A token made in an embedded database here would not be known to the server over there."""
    if settings.server and settings.database_url is None:
        raise UsageError(
            f"tokens are made in the server's database, and only a server is named ({settings.server})",
            remedy="name its database (--database), or do it on the server's machine with TENAX_SERVER unset",
        )
    return settings
