-- Counts the attempts that ended since $1, by step, for the $2 busiest steps, each with the newest plan of its workflow: the plan says
-- in which queue the step is. A definition that was stored under its name comes before those that were only submitted.
with ended as materialized (
    select workflow, step, sum(n)::bigint as n
      from tenax.attempt_minute
     where minute >= $1::timestamptz and outcome in ('succeeded', 'failed', 'not_completed', 'lost', 'expired')
     group by workflow, step
     order by n desc limit $2::integer
), planned as (
    select d.workflow, w.plan_id
      from (select distinct workflow from ended) as d
     cross join lateral (
           select (select max(p.id) from tenax.plan p where p.workflow_id = w.id) as plan_id
             from tenax.workflow w
            where w.name = d.workflow
            order by w.stored_at desc nulls last, w.id desc limit 1) as w
)
select e.step, e.n, p.plan_id
  from ended e
  join planned p using (workflow)
 where p.plan_id is not null
