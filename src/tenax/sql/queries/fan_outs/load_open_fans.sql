-- The open fan-outs of these executions, with what is counted and what is there: the number of items that hold a place.
select f.execution_id, f.step, f.total, f.ended, f.failed, f.attempts, f.tolerated, f.parallelism, f.placed, f.closed
  from tenax.fan f
 where f.execution_id = any($1::bigint[]) and not f.closed
