"""The actions of bulk jobs, by name. This table is the only place that knows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from tenax.engine.context import EngineContext
from tenax.engine.graph.start_execution import OWN_KEYS, Start
from tenax.engine.operate import family, manual_retry
from tenax.engine.operate.bulk_mark import BulkMark
from tenax.model.wire import Submitted

Submit = Callable[[Sequence[Start]], Awaitable[Sequence[Submitted]]]


@dataclass(frozen=True, slots=True)
class Acting:
    """What an action needs: the execution, who does it and why, and the mark that it sets in its transaction."""

    context: EngineContext
    submit: Submit
    execution_id: int
    actor: str
    reason: str
    mark: BulkMark


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action by its name. `apply` returns False if there was nothing to do, and raises Conflict if it is not legal.

    `ends` says whether executions go on to an end after it, so that a canary can wait for that.
    """

    apply: Callable[[Acting], Awaitable[bool]]
    ends: bool = True


async def _cancel(acting: Acting) -> bool:
    return await family.cancel(
        acting.context, acting.execution_id, actor=acting.actor, reason=acting.reason, mark=acting.mark
    )


async def _pause(acting: Acting) -> bool:
    return await family.pause(
        acting.context, acting.execution_id, actor=acting.actor, reason=acting.reason, mark=acting.mark
    )


async def _resume(acting: Acting) -> bool:
    return await family.resume(
        acting.context, acting.execution_id, actor=acting.actor, reason=acting.reason, mark=acting.mark
    )


async def _retry(acting: Acting) -> bool:
    """Retries waiting items now, or starts a finished execution again as a new one.

    The key of the new execution names the job and the item. A second try after a crash finds it and starts nothing.
    """
    context, id_, mark = acting.context, acting.execution_id, acting.mark
    if await manual_retry.is_execution_open(context, id_):
        await manual_retry.retry_now(context, id_, actor=acting.actor, reason=acting.reason, mark=mark)
        return True
    start = await manual_retry.retry_anew(
        context, id_, actor=acting.actor, reason=acting.reason, from_failed=False
    )
    assert start.operator is not None
    operator = structs.replace(start.operator, bulk=mark.job_id)
    key = f"{OWN_KEYS}bulk:{mark.job_id}:{mark.n}"
    [submitted] = await acting.submit([replace(start, key=key, operator=operator)])
    async with context.transaction() as tx:
        await mark.set(tx, made=submitted.id)
    return True


ACTIONS: Mapping[str, BulkAction] = {
    "cancel": BulkAction(_cancel),
    "pause": BulkAction(_pause, ends=False),
    "resume": BulkAction(_resume),
    "retry": BulkAction(_retry),
}


async def apply_action(name: str, acting: Acting) -> bool:
    """Applies an action of a bulk job to one execution, and marks its item in the same transaction."""
    return await ACTIONS[name].apply(acting)
