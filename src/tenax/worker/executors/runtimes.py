"""Makes the executors of a worker's runtimes, each when it is first needed."""

from __future__ import annotations

from collections.abc import Callable

from tenax.model.definition.tiers import NO_AGENT_DEFAULTS, AgentDefaults
from tenax.worker.executors import RESULT_LIMIT, Executor
from tenax.worker.handlers.registry import NoHandler
from tenax.worker.packs.cache import PackCache
from tenax.worker.processes.guardian import Guardian


class Executors:
    """Holds one executor for each runtime, and the guardian that they share."""

    def __init__(
        self,
        on_overdue: Callable[[int], None],
        packs: PackCache,
        *,
        http_addresses: str = "any",
        max_result: int = RESULT_LIMIT,
        agents: AgentDefaults = NO_AGENT_DEFAULTS,
        wrap: Callable[[Executor], Executor] | None = None,
    ) -> None:
        """`wrap` is applied to each executor when it is made."""
        self._wrap = wrap
        self._agents = agents
        self._guardian = Guardian()
        self._packs = packs
        self._made: dict[str, Executor] = {}
        self._on_overdue = on_overdue
        self._http_addresses = http_addresses
        self._max_result = max_result

    def of(self, runtime: str) -> Executor:
        executor = self._made.get(runtime)
        if executor is None:
            made = self._make(runtime)
            executor = self._made[runtime] = made if self._wrap is None else self._wrap(made)
        return executor

    async def close(self) -> None:
        for executor in self._made.values():
            await executor.close()
        await self._packs.close()
        self._guardian.close()

    def _make(self, runtime: str) -> Executor:
        match runtime:
            case "python":
                from tenax.worker.executors.python import PythonExecutor

                return PythonExecutor(self._guardian, on_overdue=self._on_overdue)
            case "http":
                from tenax.worker.executors.http import HttpExecutor

                return HttpExecutor(body_limit=self._max_result, addresses=self._http_addresses)
            case "process":
                from tenax.worker.executors.process import ProcessExecutor

                return ProcessExecutor(self._guardian, result_limit=self._max_result)
            case "agent":
                from tenax.worker.executors.agent import AgentExecutor

                return AgentExecutor(self._guardian, self._agents, result_limit=self._max_result)
            case "action":
                from tenax.worker.executors.action import ActionExecutor

                return ActionExecutor(self._guardian, self._packs, result_limit=self._max_result)
            case _:
                raise NoHandler(f"this worker has no runtime {runtime!r}")
