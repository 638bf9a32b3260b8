select e.id, w.name as workflow, w.version, e.state, e.failure, e.created_at, e.finished_at, e.retry_of,
       (select jsonb_build_object('step', i.step, 'state', i.state, 'attempt', i.attempt,
                                  'max_attempts', i.max_attempts, 'available_at', i.available_at,
                                  'last_error', i.last_error)
          from tenax.item i where i.execution_id = e.id order by i.available_at limit 1) as waiting
  from tenax.execution e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where ($1::text[] is null or e.state = any($1))
   and ($2::text is null or w.name = $2)
   and ($3::timestamptz is null or e.created_at >= $3)
   and ($4::bigint is null or e.id < $4)
 order by e.id desc
 limit $5::integer
