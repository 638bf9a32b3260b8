-- Returns the fan-outs of these executions, each with its number of work items.
select f.execution_id, f.step, f.total, f.ended, f.failed, f.attempts, f.tolerated, f.parallelism, f.placed, f.closed, i.live, i.live_placed
  from tenax.fan f
 cross join lateral (
    select count(*)::integer as live, (count(*) filter (where i.stopped_by is distinct from 'slot'))::integer as live_placed
      from tenax.item i
     where i.execution_id = f.execution_id and i.step = f.step and not i.compensates
 ) as i
 where f.execution_id = any($1::bigint[])
 order by f.execution_id, f.step collate "C"
