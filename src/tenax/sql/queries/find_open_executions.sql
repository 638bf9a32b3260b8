-- Open executions after $1, each with its steps that are done, lost, and live: enough to see whether one is missing.
select e.id, e.plan_id, e.compensation,
       array(select s.step from tenax.step s where s.execution_id = e.id and s.state in ('completed', 'skipped')) as done,
       array(select s.step from tenax.step s
              where s.execution_id = e.id and s.state in ('failed', 'unreachable', 'cancelled')) as lost,
       array(select i.step from tenax.item i where i.execution_id = e.id
             union
             select f.step from tenax.fan f where f.execution_id = e.id and not f.closed and e.compensation is null) as live
  from tenax.execution e
 where e.state = 'running' and e.deactivated_at is null and e.id > $1::bigint
 order by e.id
 limit $2::integer
