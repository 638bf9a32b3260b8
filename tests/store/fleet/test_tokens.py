"""Tokens: shown once, stored as a hash, live until revoked."""

from __future__ import annotations

import hashlib
from contextlib import AbstractAsyncContextManager

import pytest
from support.connections import connected

from tenax.errors import Conflict, NotFound, UsageError
from tenax.store.connect import Connection
from tenax.store.fleet.tokens import (
    ROLES,
    any_live_token,
    create_token,
    find_token,
    hash_secret,
    list_tokens,
    revoke_token,
)


@pytest.fixture
def tx(database_url: str) -> AbstractAsyncContextManager[Connection]:
    return connected(database_url)


async def test_only_the_hash_of_a_secret_is_stored(tx):
    id_, secret = await create_token(tx, "ci", "operator")
    assert secret.startswith("tenax_")
    assert len(secret) == len("tenax_") + 43
    row = await tx.fetchrow("select * from tenax.token where id = $1", id_)
    assert row["hash"] == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(dict(row))
    found = await find_token(tx, hash_secret(secret))
    assert (found.id, found.name, found.role) == (id_, "ci", "operator")
    assert await find_token(tx, hash_secret(secret + "x")) is None


async def test_every_role_can_be_had_and_no_other(tx):
    secrets = {(await create_token(tx, f"a-{role}", role))[1] for role in ROLES}
    assert len(secrets) == len(ROLES)
    with pytest.raises(UsageError, match="no role 'king'"):
        await create_token(tx, "x", "king")


@pytest.mark.parametrize("name", ["", "  ", "12", "a\0b", "a\nb", "x" * 101])
async def test_names_that_could_not_be_told_apart_are_refused(tx, name: str):
    with pytest.raises(UsageError):
        await create_token(tx, name, "viewer")


async def test_a_name_is_free_again_once_its_token_is_revoked(tx):
    first, _ = await create_token(tx, "ci", "viewer")
    with pytest.raises(Conflict, match="there is a token named 'ci' already"):
        await create_token(tx, "ci", "viewer")
    assert await any_live_token(tx)
    assert [token.id for token in await revoke_token(tx, "ci")] == [first]
    assert not await any_live_token(tx)
    second, secret = await create_token(tx, "ci", "viewer")
    assert [token.revoked_at is None for token in await list_tokens(tx)] == [False, True]
    [revoked] = await revoke_token(tx, str(second))
    assert revoked.revoked_at is not None
    assert await find_token(tx, hash_secret(secret)) == revoked
    assert (await revoke_token(tx, second))[0].revoked_at == revoked.revoked_at


@pytest.mark.parametrize("which", [1, "1", "nobody", "a\0b", 2**63, "9" * 30, "9" * 5000])
async def test_revoking_what_is_not_there_says_so(tx, which: int | str):
    with pytest.raises(NotFound, match="there is no token"):
        await revoke_token(tx, which)
