"""Configures logging. Logs of structlog and of the standard library go to stderr in one format. Stdout is for results."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog


def configure_logging(level: str, *, who: str | None = None) -> None:
    """Configures logging. `who` is put on every line, since several processes of `tenax up` share one terminal."""
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if who:
        shared.append(_named(who))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = _ToStderr()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("httpx2", "httpcore2", "uvicorn", "asyncio"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
    # asyncpg logs a traceback for each failed reconnection. The engine says once that the database is not reachable.
    logging.getLogger("asyncpg.pool").setLevel(logging.CRITICAL)


class _ToStderr(logging.StreamHandler[TextIO]):
    """Looks up `sys.stderr` for each line. A live table replaces it, and prints the lines above itself.

    If stderr is not a terminal, the table does not take its lines.
    """

    def emit(self, record: logging.LogRecord) -> None:
        real = sys.__stderr__
        self.stream = sys.stderr if real is None or real.isatty() else real
        super().emit(record)


def _named(who: str) -> structlog.typing.Processor:
    def add(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event["process"] = who
        return event

    return add
