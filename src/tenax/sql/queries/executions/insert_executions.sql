-- Inserts executions with their first items, steps and events. An execution whose key is taken is not inserted, nor
-- anything that belongs to it.
--
-- `executions` and `items` are lists of records: NewExecution and NewItem. An execution with a negative number gets its
-- id here. Its items, steps and events refer to it by that number. Without `now` the time is read here too. An item for
-- which a worker waits (`item_worker`) is leased as it is inserted. Returns the number, the id and the small input of
-- each inserted execution, because leasing its steps needs the input.
with given as materialized (
    select case when x.number < 0 then nextval('tenax.execution_id') else x.number end as id, x.*
      from rows from (jsonb_to_recordset(:executions::jsonb)
                        as (number bigint, plan_id bigint, open_steps integer, submit_key text, base_dir text, retry_of bigint,
                            original_execution bigint, deadline double precision, state text, parent jsonb, budgeted boolean),
                      unnest(:execution_input::jsonb[]), unnest(:execution_result::jsonb[]), unnest(:execution_failure::jsonb[]))
        as x (number, plan_id, open_steps, submit_key, base_dir, retry_of, original_execution, deadline, state, parent, budgeted, input, result,
              failure)
), e as (
    insert into tenax.execution
           (id, plan_id, open_steps, submit_key, input, base_dir, retry_of, original_execution,
            created_at, deadline_at, state, finished_at, result, failure,
            parent_id, parent_item, parent_step, parent_item_no, parent_attempt, lane, budgeted)
    select x.id, x.plan_id, x.open_steps, x.submit_key, x.input, x.base_dir,
           x.retry_of, x.original_execution, coalesce(:now::timestamptz, tenax.now()),
           coalesce(:now::timestamptz, tenax.now()) + make_interval(secs => x.deadline), x.state,
           case when x.state = 'running' then null else coalesce(:now::timestamptz, tenax.now()) end, x.result, x.failure,
           (x.parent ->> 'execution_id')::bigint, (x.parent ->> 'item_id')::bigint, x.parent ->> 'step',
           (x.parent ->> 'item')::integer, (x.parent ->> 'attempt')::integer, coalesce((x.parent ->> 'lane')::bigint, 0), coalesce(x.budgeted, false)
      from given x
--if keys
        on conflict (submit_key) where submit_key is not null do nothing
--end
    returning id, case when pg_column_size(input) <= 1000 then input end as input
), made as materialized (
    select t.number, e.id, e.input from e join given t on t.id = e.id
)
--if items
, i as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, lane, limits, available_at, expires_at, created_at,
            started_at, attempt, max_attempts, timeout, worker, lease_grant, lease_token, vary, base_dir)
    select m.id, x.plan_id, x.step, case when x.lease is null then 'queued' else 'leased' end, x.queue, x.runtime, x.priority,
           x.labels::jsonb, coalesce(x.lane, 0), case when x.limits is not null then jsonb_populate_record(null::tenax.limits, x.limits) end,
           t.now, t.now + make_interval(secs => case when x.lease is null then x.queue_ttl
                                                     else least(:lease_seconds::double precision,
                                                                x.timeout + :lease_grace::double precision) end),
           t.now, case when x.lease is not null then t.now end, (x.lease is not null)::integer, x.max_attempts, x.timeout,
           x.lease ->> 0, (x.lease ->> 1)::uuid, (x.lease ->> 2)::uuid, x.vary::jsonb, x.base_dir
      from jsonb_to_recordset(:items::jsonb)
        as x (execution_id bigint, plan_id bigint, step text, queue text, runtime text, priority smallint, labels text,
              max_attempts integer, timeout double precision, queue_ttl double precision, vary text, lane bigint, limits jsonb,
              base_dir text, lease jsonb)
      join made m on m.number = x.execution_id
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
      from unnest(:log_execution::text::bigint[], :log_events::text[]) with ordinality as x (number, events, place)
      join made m on m.number = x.number
     order by x.place  -- a hash join would reverse the rows of one execution
)
select m.number, m.id, m.input
--if leases
       , i.id as item_id, i.timeout, i.started_at, i.vary, i.created
--end
  from made m
--if leases
  left join i on i.execution_id = m.id and i.lease_token is not null
