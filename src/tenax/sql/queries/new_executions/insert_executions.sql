-- Inserts executions with their first items, steps and events. A key that is taken inserts nothing of its execution.
--
-- An execution with a negative number gets its id here; its items, steps and events name that number. Without `now` the time is
-- taken here too. An item for which a worker waits (`item_worker`) is leased as it is inserted. Returns the number, the id and the
-- small input of each execution that went in: whoever leases its steps needs the input.
with told as materialized (
    select case when x.number < 0 then nextval('tenax.execution_id') else x.number end as id, x.*
      from unnest(:execution_number::text::bigint[], :execution_plan::text::bigint[], :execution_open_steps::text::integer[],
                  :execution_submit_key::text[], :execution_input::jsonb[], :execution_base_dir::text[],
                  :execution_retry_of::text::bigint[], :execution_original::text::bigint[],
                  :execution_deadline::text::double precision[], :execution_state::text[], :execution_result::jsonb[],
                  :execution_failure::jsonb[], :execution_parent::jsonb[])
        as x (number, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution, deadline, state, result,
              failure, parent)
), e as (
    insert into tenax.execution
           (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution,
            created_at, deadline_at, state, finished_at, result, failure,
            parent_id, parent_item, parent_step, parent_item_no, parent_attempt, lane)
    select x.id, x.plan_id, x.open_steps, x.submit_key, x.input, x.base_dir,
           x.retry_of, x.original_execution, coalesce(:now::timestamptz, tenax.now()),
           coalesce(:now::timestamptz, tenax.now()) + make_interval(secs => x.deadline), x.state,
           case when x.state = 'running' then null else coalesce(:now::timestamptz, tenax.now()) end, x.result, x.failure,
           (x.parent ->> 'execution_id')::bigint, (x.parent ->> 'item_id')::bigint, x.parent ->> 'step',
           (x.parent ->> 'item')::integer, (x.parent ->> 'attempt')::integer, coalesce((x.parent ->> 'lane')::bigint, 0)
      from told x
        on conflict (submit_key) where submit_key is not null do nothing
    returning id, case when pg_column_size(input) <= 1000 then input end as input
), made as materialized (
    select t.number, e.id, e.input from e join told t on t.id = e.id
)
--if item_execution
, i as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, lane, limits, available_at, expires_at, created_at,
            started_at, attempt, max_attempts, timeout, worker, lease_grant, lease_token, vary, base_dir)
    select m.id, x.plan_id, x.step, case when x.worker is null then 'queued' else 'leased' end, x.queue, x.runtime, x.priority,
           x.labels, x.lane, case when x.limits is not null then jsonb_populate_record(null::tenax.limits, x.limits) end,
           t.now, t.now + make_interval(secs => case when x.worker is null then x.queue_ttl
                                                     else least(:lease_seconds::double precision,
                                                                x.timeout + :lease_grace::double precision) end),
           t.now, case when x.worker is not null then t.now end, (x.worker is not null)::integer, x.max_attempts, x.timeout,
           x.worker, x.lease_grant, x.token, x.vary, x.base_dir
      from unnest(:item_execution::text::bigint[], :item_plan::text::bigint[], :item_step::text[], :item_queue::text[],
                  :item_runtime::text[], :item_priority::text::smallint[], :item_labels::jsonb[],
                  :item_max_attempts::text::integer[], :item_timeout::text::double precision[],
                  :item_queue_ttl::text::double precision[], :item_vary::jsonb[], :item_lane::text::bigint[],
                  :item_limits::jsonb[], :item_base_dir::text[], :item_worker::text[], :item_grant::text[]::uuid[],
                  :item_token::text[]::uuid[])
        as x (number, plan_id, step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl, vary, lane, limits,
              base_dir, worker, lease_grant, token)
      join made m on m.number = x.number
     cross join (select coalesce(:now::timestamptz, tenax.now()) as now) as t
    returning id, execution_id, lease_token, timeout, started_at, vary, date_part('epoch', created_at) as created
)
--if step_execution
, s as (
    insert into tenax.step (execution_id, step, state, waiting_for, attempts, result, failure, failures)
    select m.id, x.step, x.state, x.waiting_for, 0, x.result, x.failure, x.failures
      from unnest(:step_execution::text::bigint[], :step_step::text[], :step_state::text[], :step_waiting_for::text::integer[],
                  :step_result::jsonb[], :step_failure::jsonb[], :step_failures::jsonb[])
        as x (number, step, state, waiting_for, result, failure, failures)
      join made m on m.number = x.number
)
--end
, l as (
    insert into tenax.log (execution_id, at, events)
    select m.id, coalesce(:now::timestamptz, tenax.now()), x.events
      from unnest(:log_execution::text::bigint[], :log_events::text[]) as x (number, events)
      join made m on m.number = x.number
)
select m.number, m.id, m.input
--if item_worker
       , i.id as item_id, i.timeout, i.started_at, i.vary, i.created
--end
  from made m
--if item_worker
  left join i on i.execution_id = m.id and i.lease_token is not null
