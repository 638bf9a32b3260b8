-- The fan-outs of these steps. Whoever changes one holds the lock of its execution.
select f.execution_id, f.step, f.total, f.ended, f.failed, f.attempts, f.tolerated, f.parallelism, f.placed, f.closed
  from unnest($1::bigint[], $2::text[]) as r (execution_id, step)
  join tenax.fan f on f.execution_id = r.execution_id and f.step = r.step
