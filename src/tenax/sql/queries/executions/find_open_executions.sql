-- Finds open executions after $1, each with its steps that are done, lost, and live. This is enough to see whether a
-- step is missing. A fan-out without its row is not live, whatever items it has.
select e.id, e.plan_id, e.compensation, s.done, s.lost,
       array(select i.step
               from (select distinct i.step, i.item_no is not null and not i.compensates as of_fan_out
                       from tenax.item i
                      where i.execution_id = e.id) as i
              where not i.of_fan_out or exists (select from tenax.fan f where f.execution_id = e.id and f.step = i.step)
             union
             select f.step from tenax.fan f where f.execution_id = e.id and not f.closed and e.compensation is null) as live
  from (select x.id, x.plan_id, x.compensation
          from tenax.execution x
         where x.state = 'running' and x.deactivated_at is null and x.id > $1::bigint
         order by x.id
         limit $2::integer) as e
 cross join lateral (
    select coalesce(array_agg(s.step) filter (where s.state in ('completed', 'skipped')), '{}') as done,
           coalesce(array_agg(s.step) filter (where s.state in ('failed', 'unreachable', 'cancelled')), '{}') as lost
      from tenax.step s
     where s.execution_id = e.id
 ) as s
 order by e.id
