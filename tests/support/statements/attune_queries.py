"""The queries that Attune's document prints, as they are printed there, and a reader of their answers."""

from __future__ import annotations

from typing import Any

import asyncpg

HEALTHY_WORKERS = "SELECT * FROM healthy_workers;"
WORKER_HEALTH = """
SELECT
name,
capabilities->'health'->>'status' as health_status,
capabilities->'health'->>'queue_depth' as queue_depth,
capabilities->'health'->>'consecutive_failures' as failures
FROM worker
WHERE id = 1;
"""
IS_RETRIABLE = "SELECT is_execution_retriable(123);"
QUEUE_DEPTH = "SELECT get_worker_queue_depth(1);"
RETRY_CHAIN = """
-- Find all retries for execution 100
WITH RECURSIVE retry_chain AS (
SELECT id, retry_count, retry_reason, original_execution, status
FROM execution
WHERE id = 100
UNION ALL
SELECT e.id, e.retry_count, e.retry_reason, e.original_execution, e.status
FROM execution e
JOIN retry_chain rc ON e.original_execution = rc.id
)
SELECT * FROM retry_chain ORDER BY retry_count;
"""
SUCCESS_RATE = """
-- Success rate of retries by reason
SELECT
config->>'retry_reason' as reason,
COUNT(*) as total_retries,
COUNT(CASE WHEN status = 'completed' THEN 1 END) as succeeded,
ROUND(100.0 * COUNT(CASE WHEN status = 'completed' THEN 1 END) / COUNT(*), 2) as success_rate
FROM execution
WHERE retry_count > 0
GROUP BY config->>'retry_reason'
ORDER BY total_retries DESC;
"""
WORKERS_BY_HEALTH = """
-- Workers sorted by health and load
SELECT
w.name,
w.status,
(w.capabilities->'health'->>'status')::TEXT as health,
(w.capabilities->'health'->>'queue_depth')::INTEGER as queue,
(w.capabilities->'health'->>'consecutive_failures')::INTEGER as failures,
w.last_heartbeat
FROM worker w
WHERE w.status = 'active'
ORDER BY
CASE (w.capabilities->'health'->>'status')::TEXT
WHEN 'healthy' THEN 1
WHEN 'degraded' THEN 2
WHEN 'unhealthy' THEN 3
ELSE 4
END,
(w.capabilities->'health'->>'queue_depth')::INTEGER;
"""
RETRY_RATE = """
-- Retry rate over last hour
SELECT
COUNT(DISTINCT CASE WHEN retry_count = 0 THEN id END) as original_executions,
COUNT(DISTINCT CASE WHEN retry_count > 0 THEN id END) as retry_executions,
ROUND(100.0 * COUNT(DISTINCT CASE WHEN retry_count > 0 THEN id END) /
COUNT(DISTINCT CASE WHEN retry_count = 0 THEN id END), 2) as retry_rate
FROM execution
WHERE created > NOW() - INTERVAL '1 hour';
"""
HEALTH_DISTRIBUTION = """
-- Worker health distribution
SELECT
COALESCE((capabilities->'health'->>'status')::TEXT, 'unknown') as health_status,
COUNT(*) as worker_count,
AVG((capabilities->'health'->>'queue_depth')::INTEGER) as avg_queue_depth
FROM worker
WHERE status = 'active'
GROUP BY health_status;
"""
ACTION = "SELECT timeout_seconds, max_retries FROM action WHERE ref = 'action.name';"
HEARTBEATS = "SELECT name, last_heartbeat FROM worker;"
CONFIG = "SELECT config FROM execution WHERE id = 123;"
ALL = (
    HEALTHY_WORKERS, WORKER_HEALTH, IS_RETRIABLE, QUEUE_DEPTH, RETRY_CHAIN, SUCCESS_RATE, WORKERS_BY_HEALTH,
    RETRY_RATE, HEALTH_DISTRIBUTION, ACTION, HEARTBEATS, CONFIG,
)  # fmt: skip


async def answer(url: str, query: str, *, printed: str = "", own: object = "") -> list[dict[str, Any]]:
    """Runs a query with `search_path = ops`. `own` replaces what is `printed` in it, such as the number of an execution."""
    assert printed in query
    connection = await asyncpg.connect(url, server_settings={"search_path": "ops"})
    try:
        text = query.replace(printed, str(own)) if printed else query
        return [dict(row) for row in await connection.fetch(text)]
    finally:
        await connection.close()
