-- Executions with their first items and events. A key that someone else has just used inserts nothing. Returns the inputs too, the
-- small ones, as they are kept: a lease will need them.
with e as (
    insert into tenax.execution
           (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution,
            created_at, deadline_at, state, finished_at, result, failure,
            parent_id, parent_item, parent_step, parent_item_no, parent_attempt, lane)
    select x.id, x.plan_id, x.open_steps, x.submit_key, x.input, x.base_dir,
           x.retry_of, x.original_execution, $1::timestamptz, $1::timestamptz + make_interval(secs => x.deadline), x.state,
           case when x.state = 'running' then null else $1::timestamptz end, x.result, x.failure,
           (x.parent ->> 'execution_id')::bigint, (x.parent ->> 'item_id')::bigint, x.parent ->> 'step',
           (x.parent ->> 'item')::integer, (x.parent ->> 'attempt')::integer, coalesce((x.parent ->> 'lane')::bigint, 0)
      from unnest($2::text::bigint[], $3::text::bigint[], $4::text::integer[], $5::text[], $6::jsonb[], $7::text[], $8::text::bigint[],
                  $9::text::bigint[], $10::text::double precision[], $11::text[], $12::jsonb[], $13::jsonb[], $14::jsonb[])
        as x (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution, deadline, state, result,
              failure, parent)
        on conflict (submit_key) where submit_key is not null do nothing
    returning id, case when pg_column_size(input) <= 1000 then input end as input
), i as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, available_at, queue_deadline,
            created_at, max_attempts, timeout, queue_ttl, vary, lane, action_gate, action_most, key_gate, key_most,
            base_dir)
    select e.id, x.plan_id, x.step, 'queued', x.queue, x.runtime, x.priority, x.labels, $1::timestamptz,
           $1::timestamptz + make_interval(secs => x.queue_ttl), $1::timestamptz, x.max_attempts, x.timeout, x.queue_ttl, x.vary, x.lane,
           x.gates ->> 'action', (x.gates ->> 'action_most')::integer, x.gates ->> 'key', (x.gates ->> 'key_most')::integer,
           x.base_dir
      from unnest($15::text::bigint[], $16::text::bigint[], $17::text[], $18::text[], $19::text[], $20::text::smallint[], $21::jsonb[],
                  $22::text::integer[], $23::text::double precision[], $24::text::double precision[], $25::jsonb[], $26::text::bigint[], $27::jsonb[],
                  $28::text[])
        as x (execution_id, plan_id, step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl, vary, lane, gates,
              base_dir)
      join e on e.id = x.execution_id
), s as (
    insert into tenax.step (execution_id, step, state, waiting_for, attempts, result, failure, failures)
    select e.id, x.step, x.state, x.waiting_for, 0, x.result, x.failure, x.failures
      from unnest($29::text::bigint[], $30::text[], $31::text[], $32::text::integer[], $33::text::integer[], $34::jsonb[], $35::jsonb[], $36::jsonb[])
        as x (execution_id, step, state, waiting_for, attempts, result, failure, failures)
      join e on e.id = x.execution_id
), l as (
    insert into tenax.log (execution_id, at, events)
    select e.id, $1::timestamptz, x.events
      from unnest($37::text::bigint[], $38::text[]) as x (execution_id, events)
      join e on e.id = x.execution_id
)
select id, input from e
