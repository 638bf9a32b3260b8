-- Pauses the items of these executions, or resumes them. A paused item is not leased, and its time in the queue does
-- not run. At a limit it does not delay others, and the limit is checked again when it is resumed. The time that an
-- item may then wait in the queue is that of its action.
update tenax.item i
   set stopped_by = case when :paused::boolean then 'pause' end,
       expires_at = case when i.state not in ('queued', 'retrying') then i.expires_at
                         when not :paused
                         then greatest(i.available_at, tenax.now()) + make_interval(secs => (
                                  select a.queue_ttl
                                    from unnest(:action_plan::bigint[], :action_step::text[], :action_compensates::boolean[],
                                                :action_queue_ttl::double precision[]) as a (plan_id, step, compensates, queue_ttl)
                                   where a.plan_id = i.plan_id and a.step = i.step and a.compensates = i.compensates)) end
 where i.execution_id = any(:executions::bigint[])
   and case when :paused then coalesce(i.stopped_by, 'limit') = 'limit' else i.stopped_by = 'pause' end
