-- Loads the open fan-outs of these executions, with their counters.
select f.execution_id, f.step, f.total, f.ended, f.failed, f.attempts, f.tolerated, f.parallelism, f.placed, f.closed
  from tenax.fan f
 where f.execution_id = any($1::bigint[]) and not f.closed
