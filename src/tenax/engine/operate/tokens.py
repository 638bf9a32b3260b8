"""Lists, creates and revokes tokens."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.context import EngineContext
from tenax.store.fleet import tokens
from tenax.store.fleet.tokens import Token


class Tokens:
    """Keeps the tokens. A server's authenticator must forget what it knows after a change."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def list(self) -> Sequence[Token]:
        """Lists all tokens in the order of their ids, also revoked ones. It never has their secrets."""
        async with self._context.view() as tx:
            return await tokens.list_tokens(tx)

    async def create(self, name: str, role: str, *, actor: str, reason: str | None = None) -> tuple[int, str]:
        """Creates a token. Returns its id and its secret, which cannot be read again."""
        async with self._context.transaction() as tx:
            return await tokens.create_token(tx, name, role, actor=actor, reason=reason)

    async def revoke(self, token_id: int, *, actor: str, reason: str | None = None) -> Token:
        """Revokes a token. One that is revoked already stays so."""
        async with self._context.transaction() as tx:
            [revoked] = await tokens.revoke_token(tx, token_id, actor=actor, reason=reason)
        return revoked
