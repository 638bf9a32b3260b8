-- Finds executions with a fan-out that has a free slot and a retry that is due.
select distinct f.execution_id
  from tenax.fan f
 where not f.closed and f.placed < f.parallelism
   and exists (select from tenax.item i
                where i.execution_id = f.execution_id and i.step = f.step and i.state = 'retrying' and i.stopped_by = 'slot'
                  and i.available_at <= tenax.now())
 limit $1::integer
