-- Executions with their first items and events. A key that someone else has just used inserts nothing. One that comes alone, with
-- neither id (0) nor time ($1), gets both here. Returns the inputs too, the small ones, as they are kept: a lease will need them.
with fresh as (
    select nextval('tenax.execution_id') as id
), e as (
    insert into tenax.execution
           (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution,
            created_at, deadline_at, state, finished_at, result, failure,
            parent_id, parent_item, parent_step, parent_item_no, parent_attempt, lane)
    select coalesce(nullif(x.id, 0), (select id from fresh)), x.plan_id, x.open_steps, x.submit_key, x.input, x.base_dir,
           x.retry_of, x.original_execution, t.now, t.now + make_interval(secs => x.deadline), x.state,
           case when x.state = 'running' then null else t.now end, x.result, x.failure,
           (x.parent ->> 'execution_id')::bigint, (x.parent ->> 'item_id')::bigint, x.parent ->> 'step',
           (x.parent ->> 'item')::integer, (x.parent ->> 'attempt')::integer, coalesce((x.parent ->> 'lane')::bigint, 0)
      from (select coalesce($1::timestamptz, tenax.now()) as now) as t,
           unnest($2::text::bigint[], $3::text::bigint[], $4::text::integer[], $5::text[], $6::jsonb[], $7::text[], $8::text::bigint[],
                  $9::text::bigint[], $10::text::double precision[], $11::text[], $12::jsonb[], $13::jsonb[], $14::jsonb[])
        as x (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution, deadline, state, result,
              failure, parent)
        on conflict (submit_key) where submit_key is not null do nothing
    returning id, created_at as now, case when pg_column_size(input) <= 1000 then input end as input
), i as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, available_at, queue_deadline,
            created_at, max_attempts, timeout, queue_ttl, vary, lane, action_gate, action_most, key_gate, key_most,
            base_dir)
    select e.id, x.plan_id, x.step, 'queued', x.queue, x.runtime, x.priority, x.labels, e.now,
           e.now + make_interval(secs => x.queue_ttl), e.now, x.max_attempts, x.timeout, x.queue_ttl, x.vary, x.lane,
           x.gates ->> 'action', (x.gates ->> 'action_most')::integer, x.gates ->> 'key', (x.gates ->> 'key_most')::integer,
           x.base_dir
      from unnest($15::text::bigint[], $16::text::bigint[], $17::text[], $18::text[], $19::text[], $20::text::smallint[], $21::jsonb[],
                  $22::text::integer[], $23::text::double precision[], $24::text::double precision[], $25::jsonb[], $26::text::bigint[], $27::jsonb[],
                  $28::text[], $29::text::boolean[])
        as x (execution_id, plan_id, step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl, vary, lane, gates,
              base_dir, paused)
      join e on e.id = coalesce(nullif(x.execution_id, 0), (select id from fresh))
), s as (
    insert into tenax.step (execution_id, step, state, waiting_for, attempts, result, failure, failures)
    select e.id, x.step, x.state, x.waiting_for, 0, x.result, x.failure, x.failures
      from unnest($30::text::bigint[], $31::text[], $32::text[], $33::text::integer[], $34::text::integer[], $35::jsonb[], $36::jsonb[], $37::jsonb[])
        as x (execution_id, step, state, waiting_for, attempts, result, failure, failures)
      join e on e.id = coalesce(nullif(x.execution_id, 0), (select id from fresh))
), l as (
    insert into tenax.log (execution_id, at, events)
    select e.id, e.now, x.events
      from unnest($38::text::bigint[], $39::text[]) as x (execution_id, events)
      join e on e.id = coalesce(nullif(x.execution_id, 0), (select id from fresh))
)
select id, input from e
