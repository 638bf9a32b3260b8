-- What succeeded is undone, the last first: one item for each attempt that completed one, in the reverse order of the log.
insert into tenax.item
       (execution_id, plan_id, step, item_no, state, queue, runtime, priority, labels, available_at, created_at,
        max_attempts, timeout, queue_ttl, vary, compensates, element, previous, paused)
select $1::bigint, $2::bigint, e.step, e.item, 'waiting', a.queue, a.runtime, a.priority, a.labels, $3::timestamptz, $3,
       a.max_attempts, a.timeout, a.queue_ttl, a.vary, true, r.element, e.data -> 'result', $13::boolean
  from tenax.event e
  join unnest($4::text[], $5::text[], $6::text[], $7::smallint[], $8::jsonb[], $9::integer[], $10::double precision[],
              $11::double precision[], $12::jsonb[])
    as a (step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl, vary) on a.step = e.step
  left join tenax.item_result r on r.execution_id = $1 and r.step = e.step and r.item_no = e.item
 where e.execution_id = $1 and e.type = 'action_completed'
 order by e.seq desc
