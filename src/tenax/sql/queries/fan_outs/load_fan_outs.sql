-- Loads the fan-outs of these steps. A transaction that changes one holds the lock of its execution.
select f.*
  from unnest($1::bigint[], $2::text[]) as r (execution_id, step)
 cross join lateral (
    -- Finds row by row by the key. With the limit no plan can begin with the fan-outs.
    select f.execution_id, f.step, f.total, f.ended, f.failed, f.attempts, f.tolerated, f.parallelism, f.placed, f.closed
      from tenax.fan f
     where f.execution_id = r.execution_id and f.step = r.step
     limit 1
 ) as f
