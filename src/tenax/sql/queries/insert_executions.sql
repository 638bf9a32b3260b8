-- Executions with their first items and events. A key that someone else has just used inserts nothing.
with e as (
    insert into tenax.execution
           (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution,
            created_at, deadline_at, state, finished_at, result, failure)
    select x.id, x.plan_id, x.open_steps, x.submit_key, x.input, x.base_dir, x.retry_of, x.original_execution,
           $25::timestamptz, $25 + make_interval(secs => x.deadline), x.state,
           case when x.state = 'running' then null else $25 end, x.result, x.failure
      from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::jsonb[], $6::text[], $7::bigint[],
                  $8::bigint[], $9::double precision[], $10::text[], $11::jsonb[], $26::jsonb[])
        as x (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution, deadline, state, result, failure)
        on conflict (submit_key) where submit_key is not null do nothing
    returning id
), i as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, available_at, queue_deadline,
            created_at, max_attempts, timeout, queue_ttl)
    select x.execution_id, x.plan_id, x.step, 'queued', x.queue, x.runtime, x.priority, x.labels, $25,
           $25 + make_interval(secs => x.queue_ttl), $25, x.max_attempts, x.timeout, x.queue_ttl
      from unnest($12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::text[], $17::smallint[], $18::jsonb[],
                  $19::integer[], $20::double precision[], $21::double precision[])
        as x (execution_id, plan_id, step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl)
      join e on e.id = x.execution_id
), s as (
    insert into tenax.step (execution_id, step, state, waiting_for, attempts, result, failure)
    select x.execution_id, x.step, x.state, x.waiting_for, 0, x.result, x.failure
      from jsonb_to_recordset($24::jsonb)
        as x (execution_id bigint, step text, state text, waiting_for integer, result jsonb, failure jsonb)
      join e on e.id = x.execution_id
), l as (
    insert into tenax.log (execution_id, at, events)
    select x.execution_id, $25, x.events
      from unnest($22::bigint[], $23::jsonb[]) as x (execution_id, events)
      join e on e.id = x.execution_id
)
select id from e
