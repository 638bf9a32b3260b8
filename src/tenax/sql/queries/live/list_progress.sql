-- Returns the progress of an execution by step: the sum of what its running attempts have told, what the one told that told last,
-- and the numbers of an open fan-out.
with told as (
    select i.step, i.compensates, sum(p.fraction)::double precision as fractions,
           (array_agg(i.item_no order by p.at desc))[1] as item_no,
           (array_agg(p.fraction order by p.at desc))[1] as fraction,
           (array_agg(p.message order by p.at desc))[1] as message,
           (array_agg(i.started_at order by p.at desc))[1] as started_at, max(p.at) as at
      from tenax.attempt_progress p
      join tenax.item i on i.id = p.item_id and i.lease_token = p.lease_token
     where p.execution_id = $1::bigint
     group by i.step, i.compensates
)
select coalesce(t.step, f.step) as step, coalesce(t.compensates, false) as compensates, t.fractions, t.item_no, t.fraction, t.message,
       t.started_at, t.at, f.total, f.ended,
       (select i.created_at from tenax.item i where i.execution_id = f.execution_id and i.step = f.step limit 1) as began, tenax.now() as now
  from told t
  full join (select * from tenax.fan where execution_id = $1 and not closed) as f on f.step = t.step and not t.compensates
 where t.step is not null or f.ended > 0
 order by 1, 2
