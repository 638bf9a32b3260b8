-- Inserts missing items of a step, with the attempts that they have used. An item whose worker is lost gets an expired
-- lease. An item that waited for something waits for it again. An item that only has a time is held until then. An item
-- whose former id is known gets it back, because its receipt depends on it.
insert into tenax.item
       (id, execution_id, plan_id, step, item_no, element, state, stopped_by, queue, runtime, priority, labels, lane, limits, suspect,
        available_at, expires_at, created_at, started_at, attempt, max_attempts, timeout, ledger, last_error, worker, lease_token, awaiting,
        previous, vary, base_dir, policy)
select coalesce(x.id, nextval('tenax.item_id')), :execution::bigint, :plan::bigint, :step::text, x.item_no, x.element,
       case when x.awaiting is not null then 'accepted' when x.lost then 'leased' when x.until is not null then 'held'
            when x.attempt > 0 then 'retrying' when :all_have_slots::boolean then 'queued' else 'waiting' end,
       case when not (x.lost or x.awaiting is not null or :all_have_slots) then 'slot' when :paused::boolean then 'pause' end,
       :queue::text, :runtime::text, :priority::smallint, :labels::jsonb, :lane::bigint,
       case when :limits::jsonb is not null
            then jsonb_populate_record(row(null, null, x.key, null)::tenax.limits, :limits) end,
       x.suspect, x.available_at,
       case when x.lost then tenax.now()
            when x.until is not null or x.awaiting is not null then x.until
            when :all_have_slots and not :paused
            then greatest(x.available_at, tenax.now()) + make_interval(secs => :queue_ttl::double precision) end,
       x.created_at,
       case when x.awaiting is not null then coalesce(x.started_at, tenax.now()) end,
       x.attempt, case when x.policy is null then :max_attempts::integer else (x.policy ->> 'max_attempts')::integer end, :timeout::double precision, x.ledger, x.last_error, x.lost_worker,
       case when x.lost then gen_random_uuid() end, x.awaiting, x.previous, x.vary, :base_dir::text, x.policy
  from (select u.*, u.lost_worker is not null and u.awaiting is null as lost
          from unnest(:item_no::integer[], :item_element::jsonb[], :item_attempt::integer[], :item_ledger::jsonb[],
                      :item_available_at::timestamptz[], :item_created_at::timestamptz[], :item_lost_worker::text[],
                      :item_previous::jsonb[], :item_vary::jsonb[], :item_awaiting::text[], :item_until::timestamptz[],
                      :item_key::text[], :item_suspect::boolean[], :item_id::bigint[], :item_last_error::text[],
                      :item_started_at::timestamptz[], :item_policy::jsonb[])
            as u (item_no, element, attempt, ledger, available_at, created_at, lost_worker, previous, vary, awaiting, until, key,
                  suspect, id, last_error, started_at, policy)) as x
 order by x.item_no
