-- Inserts compensations for successful steps, the last first: one item for each attempt that completed one, in the
-- reverse order of the log. Then it inserts those for steps whose results were kept from the execution that this one
-- retries: for a fan-out, one for each item that had succeeded, and none for a step whose result was replaced by a
-- value. Compensations that exist already are left out. A compensation that had begun and lost its item gets back its
-- used attempts, and is returned. If it was running, it gets an expired lease. If it was held, it is held again (for
-- `max_hold` at most).
with undone as materialized (
    select e.step, coalesce(e.item, -1) as item_no,
           bool_or(e.type in ('compensation_completed', 'compensation_failed')) as over,
           min(e.at) as enqueued_at,
           coalesce(max(e.attempt), 0) as attempt,
           (array_agg(e.type order by e.seq desc))[1] = 'compensation_started' as running,
           (array_agg(e.at order by e.seq desc) filter (where e.data ->> 'held' = 'true'))[1] as held_at,
           (array_agg(e.data ->> 'held' order by e.seq desc))[1] = 'true' as held,
           (array_agg(e.data ->> 'worker' order by e.seq desc) filter (where e.type = 'compensation_started'))[1] as worker,
           (array_agg(e.data order by e.seq desc) filter (where e.type = 'compensation_retry'))[1] as retry
      from tenax.event e
     where e.execution_id = :execution::bigint
       and (e.type like 'compensation\_%' or e.type in ('lease_released', 'retry_released') and e.data ? 'compensation')
     group by 1, 2
), carried as materialized (
    select e.seq, e.step, e.data -> 'result' as result, not e.data ?| array['items', 'on_failure'] as by_itself
      from tenax.event e
     where e.execution_id = :execution and e.type = 'step_completed' and e.data ? 'carried_from'
), done as (
    select e.seq, e.step, e.item, e.data -> 'result' as result
      from tenax.event e
     where e.execution_id = :execution and e.type = 'action_completed'
    union all
    select c.seq, c.step, r.item_no, case when r.item_no is null then c.result else r.result end
      from carried c
      left join tenax.item_result r on r.execution_id = :execution and r.step = c.step
     where r.state = 'succeeded' or r.state is null and c.by_itself
), made as (
    insert into tenax.item
           (execution_id, plan_id, step, item_no, state, stopped_by, queue, runtime, priority, labels, available_at, expires_at,
            created_at, max_attempts, timeout, vary, compensates, element, previous, attempt, ledger, worker, lease_token, base_dir)
    select :execution, :plan::bigint, e.step, e.item,
           case when u.running then 'leased' when u.held then 'held' when u.attempt > 0 then 'retrying' else 'waiting' end,
           case when :paused::boolean then 'pause' end, a.queue, a.runtime, a.priority, a.labels,
           coalesce((u.retry ->> 'available_at')::timestamptz, :now::timestamptz),
           case when u.running then :now when u.held then u.held_at + make_interval(secs => :max_hold::double precision) end,
           coalesce(u.enqueued_at, :now), a.max_attempts, a.timeout, a.vary, true, r.element, e.result,
           coalesce(u.attempt, 0), u.retry -> 'decision' -> 'after', case when u.running then u.worker end,
           case when u.running then gen_random_uuid() end,
           (select x.base_dir from tenax.execution x where x.id = :execution)
      from done e
      join unnest(:action_step::text[], :action_queue::text[], :action_runtime::text[], :action_priority::smallint[],
                  :action_labels::jsonb[], :action_max_attempts::integer[], :action_timeout::double precision[],
                  :action_vary::jsonb[])
        as a (step, queue, runtime, priority, labels, max_attempts, timeout, vary) on a.step = e.step
      left join tenax.item_result r on r.execution_id = :execution and r.step = e.step and r.item_no = e.item
      left join undone u on u.step = e.step and u.item_no = coalesce(e.item, -1)
     where not coalesce(u.over, false)
     order by e.seq desc, e.item desc
    returning id, step, item_no, state, available_at, attempt, ledger
)
select id, step, item_no, state, available_at, attempt, ledger from made where attempt > 0
