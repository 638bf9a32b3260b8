"""The table of metrics, from their declarations."""

from __future__ import annotations

from generators.tables import code, table
from tenax.server.metrics.declared import METRICS


def metrics(by: str) -> str:
    rows = [
        [code(one.name), one.type, ", ".join(code(label) for label in one.labels), one.help]
        for one in METRICS.values()
        if one.by == by
    ]
    return table(("metric", "type", "labels", "what it says"), rows)


BLOCKS = {
    "metrics-of-database": lambda: metrics("leader"),
    "metrics-of-server": lambda: metrics("server"),
}
