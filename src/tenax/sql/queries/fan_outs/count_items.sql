-- Counts the items of each fan-out of an execution by state.
select f.step, f.total, f.ended, f.failed, f.closed,
       coalesce((select jsonb_object_agg(c.state, c.n)
                   from (select i.state, count(*) as n from tenax.item i
                          where i.execution_id = f.execution_id and i.step = f.step and not i.compensates
                          group by i.state) as c), '{}'::jsonb) as live
  from tenax.fan f
 where f.execution_id = $1::bigint
