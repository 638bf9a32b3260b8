-- Inserts a fan-out and its items, in the order of its list. The first `parallelism` items have a slot, or all if it
-- is null.
with fan_out as (
    insert into tenax.fan (execution_id, step, total, tolerated, parallelism, placed, queue_ttl)
    values (:execution::bigint, :step::text, jsonb_array_length(:elements::jsonb), :tolerated::integer, :parallelism::integer,
            coalesce(:parallelism, jsonb_array_length(:elements)), :queue_ttl::double precision)
)
insert into tenax.item
       (execution_id, plan_id, step, item_no, element, state, stopped_by, queue, runtime, priority, labels, lane, limits,
        available_at, expires_at, created_at, max_attempts, timeout, vary, base_dir)
select :execution, :plan::bigint, :step, e.n - 1, e.element, case when s.has_slot then 'queued' else 'waiting' end,
       case when not s.has_slot then 'slot' when :paused::boolean then 'pause' end,
       :queue::text, :runtime::text, :priority::smallint, :labels::jsonb, :lane::bigint,
       case when :limits::jsonb is not null
            then jsonb_populate_record(row(null, null, e.key, null)::tenax.limits, :limits) end,
       :now::timestamptz, case when s.has_slot and not :paused then :now + make_interval(secs => :queue_ttl) end,
       :now, :max_attempts::integer, :timeout::double precision, :vary::jsonb, :base_dir::text
  from rows from (jsonb_array_elements(:elements), jsonb_array_elements_text(:keys::jsonb)) with ordinality as e (element, key, n)
 cross join lateral (select :parallelism is null or e.n <= :parallelism as has_slot) as s
 order by e.n
