-- Finds fan-outs whose counters do not match their items: some are missing, or have a slot that is not counted, or all
-- results are gone.
select f.execution_id, f.step
  from tenax.fan f
  join tenax.execution e on e.id = f.execution_id and e.state in ('running', 'paused') and e.compensation is null
 cross join lateral (
    select count(*) as live, count(*) filter (where i.stopped_by is distinct from 'slot') as placed
      from tenax.item i
     where i.execution_id = f.execution_id and i.step = f.step and not i.compensates
 ) as i
 where not f.closed
   and (f.ended + i.live <> f.total or f.parallelism is not null and f.placed <> i.placed
        or f.ended > 0 and not exists (select from tenax.item_result r where r.execution_id = f.execution_id and r.step = f.step))
 limit 100
