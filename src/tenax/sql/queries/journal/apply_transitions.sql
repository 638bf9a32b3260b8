-- Applies a batch of transitions: changes of items, new items, steps, executions and events.
--
-- A change of an item states what it expects:
--   locked      this transaction holds the lock of the execution, and the item is as it was read under that lock
--   running     the execution is running and the item's lease has this token
--   last_step   the same, and this is the last open step of an execution that has no parent
--   more_steps  the same, and other steps are open, none of them taken over from another execution
-- A change whose expectation fails, or whose rows are locked by another transaction, has no effect. It is not in the
-- answer, and the caller decides on it again under lock. This statement waits for no lock of an execution, so it
-- cannot deadlock.
--
-- `letters_opened` and `letters_moved` (records: LetterOpened, LetterMoved) are changes of dead letters of items of locked
-- executions.
--
-- A change without a state ends its item. (Items of locked executions end by `ended_items`.) A change that expects
-- `last_step` completes the execution with the result `whole`. A change that expects `more_steps` queues the action of
-- this number (`next`). The lists `new_items` (records: NewItem), `step_*`, `execution_*` and `log_*` belong to locked
-- executions, and are always written. Their time is `now`, at which the locks were held. The time of the others is
-- `guarded_now`, at which they were decided on.
--
-- A part is sent only if it has something to do (`--if`). `ends` is true if there are changes without a state, and
-- `repeats` if there are changes with one.
--
-- Items and executions are joined by `between`, because no plan can reverse the order of such a join. With `=`, the
-- whole table would be read for each batch while the statistics say that the queue is empty.
with changes as materialized (
    select u.*
      from unnest(:change_item::text::bigint[], string_to_array(:change_token::text, E'\n', '')::uuid[],
                  :change_execution::text::bigint[], string_to_array(:change_expects::text, E'\n'),
                  :change_state::text[], :change_available_at::text::timestamptz[],
                  :change_expires_at::text::timestamptz[], :change_attempt::text::integer[],
                  string_to_array(:change_ledger::text, E'\n', '')::jsonb[], :change_last_error::text[],
                  string_to_array(:change_refused_by::text, E'\n', '')::jsonb[], :change_placed::text::boolean[],
                  string_to_array(:change_previous::text, E'\n', '')::jsonb[],
                  string_to_array(:change_vary::text, E'\n', '')::jsonb[], :change_keeps_step::text::boolean[],
                  string_to_array(:change_result::text, E'\n', '')::jsonb[], string_to_array(:change_whole::text, E'\n', '')::jsonb[],
                  string_to_array(:change_events::text, E'\n', ''), :change_next::text::bigint[])
        as u (item_id, token, execution_id, expects, state, available_at, expires_at, attempt, ledger, last_error, refused_by,
              placed, previous, vary, keeps_step, result, whole, events, next)
     cross join lateral (
        -- Finds row by row by the index. A join of the locked rows with the list would be quadratic.
        select
          from tenax.execution e
         where e.id = u.execution_id
           and (u.expects = 'locked'
                or e.state = 'running' and e.compensation is null
                   and case u.expects when 'last_step' then e.open_steps = 1 and e.parent_id is null
                                      when 'more_steps' then e.open_steps > 1 and e.retry_of is null
                                      else true end)
           for update skip locked
     ) as locked
)
--if ended_items
, ended as (
    -- An array and not a text. The plan may be made before the table is known to be large, and must not search a list
    -- row by row.
    delete from tenax.item where id = any(:ended_items::bigint[])
)
--if ends
, gone as (
    delete from tenax.item i
     using changes t
     where t.state is null and i.id between t.item_id and t.item_id and (t.token is null or i.lease_token = t.token)
    returning i.id, i.execution_id, i.plan_id, i.step, i.attempt, i.base_dir, i.lane,
              t.expects, t.keeps_step, t.result, t.whole, t.events, t.next
), advanced as (
    update tenax.execution e
       set state = case g.expects when 'last_step' then 'completed' else 'running' end, open_steps = e.open_steps - 1,
           result = g.whole, finished_at = case g.expects when 'last_step' then :guarded_now::timestamptz end
      from gone g
     where g.expects in ('last_step', 'more_steps') and e.id between g.execution_id and g.execution_id
), outcomes_logged as (
    insert into tenax.log (execution_id, at, events)
    select g.execution_id, :guarded_now::timestamptz, g.events from gone g where g.events is not null
)
--if change_keeps_step
, completed_steps as (
    insert into tenax.step (execution_id, step, state, waiting_for, attempts, result)
    select g.execution_id, g.step, 'completed', 0, g.attempt, g.result from gone g where g.keeps_step
        on conflict (execution_id, step) do update
       set state = excluded.state, waiting_for = 0, attempts = excluded.attempts, result = excluded.result, failure = null
)
--if change_next
, next_items as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, lane, available_at, expires_at, created_at,
            max_attempts, timeout, vary, base_dir)
    select g.execution_id, g.plan_id, a.step, 'queued', a.queue, a.runtime, a.priority, a.labels::jsonb, g.lane, :guarded_now::timestamptz,
           :guarded_now::timestamptz + make_interval(secs => a.queue_ttl), :guarded_now::timestamptz,
           a.max_attempts, a.timeout, a.vary::jsonb, g.base_dir
      from jsonb_to_recordset(:actions::jsonb)
        as a (n bigint, step text, queue text, runtime text, priority smallint, labels text, max_attempts integer,
              timeout double precision, queue_ttl double precision, vary text)
      join gone g on g.next = a.n
)
--if repeats
, again as (
    update tenax.item i
       set state = t.state, available_at = t.available_at, attempt = coalesce(t.attempt, i.attempt),
           ledger = coalesce(t.ledger, i.ledger), last_error = coalesce(t.last_error, i.last_error),
           refused_by = case when t.refused_by is not null then array(select jsonb_array_elements_text(t.refused_by)) end,
           stopped_by = case when t.placed is false then 'slot' else i.stopped_by end,
           -- The time in the queue does not run while the item is paused.
           expires_at = case when t.state = 'held' or t.placed is not false and coalesce(i.stopped_by, 'limit') = 'limit'
                             then t.expires_at end,
           worker = null, lease_grant = null, lease_token = null, started_at = null, awaiting = null,
           previous = coalesce(t.previous, i.previous), vary = coalesce(t.vary, i.vary)
      from changes t
     where t.state is not null and i.id between t.item_id and t.item_id and (t.token is null or i.lease_token = t.token)
    returning i.id, i.execution_id, t.events
), retries_logged as (
    insert into tenax.log (execution_id, at, events)
    select a.execution_id, :guarded_now::timestamptz, a.events from again a where a.events is not null
)
--if new_items
, new_items as (
    insert into tenax.item
           (execution_id, plan_id, step, state, stopped_by, queue, runtime, priority, labels, lane, limits, available_at, expires_at,
            created_at, max_attempts, timeout, vary, base_dir)
    select x.execution_id, x.plan_id, x.step, 'queued', case when x.paused then 'pause' end, x.queue, x.runtime, x.priority,
           x.labels::jsonb, coalesce(x.lane, 0), case when x.limits is not null then jsonb_populate_record(null::tenax.limits, x.limits) end,
           :now::timestamptz, case when x.paused is null then :now::timestamptz + make_interval(secs => x.queue_ttl) end,
           :now::timestamptz, x.max_attempts, x.timeout, x.vary::jsonb, x.base_dir
      from jsonb_to_recordset(:new_items::jsonb)
        as x (execution_id bigint, plan_id bigint, step text, queue text, runtime text, priority smallint, labels text,
              max_attempts integer, timeout double precision, queue_ttl double precision, vary text, lane bigint, limits jsonb,
              base_dir text, paused boolean)
)
--if step_execution
, steps as (
    insert into tenax.step (execution_id, step, state, waiting_for, attempts, result, failure)
    select x.execution_id, x.step, x.state, x.waiting_for, x.attempts, x.result, x.failure
      from unnest(:step_execution::text::bigint[], :step_step::text[], :step_state::text[], :step_waiting_for::text::integer[],
                  :step_attempts::text::integer[], :step_result::jsonb[], :step_failure::jsonb[])
        as x (execution_id, step, state, waiting_for, attempts, result, failure)
        on conflict (execution_id, step) do update
       set state = excluded.state, waiting_for = excluded.waiting_for, attempts = excluded.attempts,
           result = excluded.result, failure = excluded.failure
)
--if execution_id
, executions as (
    update tenax.execution e
       set state = x.state, open_steps = coalesce(x.open_steps, e.open_steps - 1), result = x.result,
           failure = coalesce(x.failure, e.failure), compensation = x.compensation,
           deadline_at = case when x.compensation is null then e.deadline_at end,
           finished_at = case when x.state in ('running', 'paused') then null else :now::timestamptz end
      from unnest(:execution_id::text::bigint[], :execution_state::text[], :execution_open_steps::text::integer[],
                  :execution_result::jsonb[], :execution_failure::jsonb[], :execution_compensation::text[])
        as x (id, state, open_steps, result, failure, compensation)
     where e.id between x.id and x.id
)
--if letters_opened
, letters_opened as (
    -- An item whose letter was discarded has not been started again: it has only been held too long.
    insert into tenax.dead_letter as l
           (item_id, execution_id, workflow, step, item_no, compensates, status, tolerated, rule, class, reason, message,
            fingerprint, attempts, failed_times, first_at, last_at, changed_at)
    select x.item_id, x.execution_id, x.workflow, x.step, x.item_no, x.compensates, x.status, x.tolerated, x.rule,
           x.failure_class, x.reason, x.message, x.fingerprint, x.attempts, 1, :now::timestamptz, :now::timestamptz, :now::timestamptz
      from jsonb_to_recordset(:letters_opened::jsonb)
        as x (item_id bigint, execution_id bigint, workflow text, step text, item_no integer, compensates boolean, status text,
              tolerated boolean, rule text, failure_class text, reason text, message text, fingerprint text, attempts integer)
        on conflict (execution_id, step, coalesce(item_no, -1), compensates) do update
       set status = case when l.status = 'discarded' then 'discarded' else excluded.status end, tolerated = excluded.tolerated,
           rule = excluded.rule, class = excluded.class, reason = excluded.reason, message = excluded.message,
           fingerprint = excluded.fingerprint, attempts = excluded.attempts,
           failed_times = l.failed_times + (l.status in ('redriven', 'recovered', 'resolved'))::integer,
           last_at = excluded.last_at, changed_at = excluded.changed_at
)
--if letters_moved
, letters_moved as (
    update tenax.dead_letter l
       set status = x.status, note = case when x.status = 'resolved' then l.note end,
           actor = case when x.status = 'resolved' then l.actor end, changed_at = :now::timestamptz
      from jsonb_to_recordset(:letters_moved::jsonb)
        as x (execution_id bigint, step text, item_no integer, compensates boolean, status text)
     where l.execution_id = x.execution_id and l.step = x.step and coalesce(l.item_no, -1) = coalesce(x.item_no, -1)
       and l.compensates = x.compensates and (x.status <> 'resolved' or l.status in ('open', 'redriven'))
)
--if log_execution
, events as (
    insert into tenax.log (execution_id, at, events)
    select x.execution_id, :now::timestamptz, x.events
      from unnest(:log_execution::text::bigint[], :log_events::text[]) as x (execution_id, events)
)
--end
-- One array and not one row for each item. Hundreds of rows would cost the driver more than all its other work here.
select array[]::bigint[]
--if ends
    || array(select id from gone)
--if repeats
    || array(select id from again)
