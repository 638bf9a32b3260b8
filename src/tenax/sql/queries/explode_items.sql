-- The items of a fan-out, in the order of its list. The first $12 have a place; null: all have. $20: the key of each, where how
-- many of a key may run at once is limited.
with fan as (
    insert into tenax.fan (execution_id, step, total, tolerated, parallelism, placed)
    values ($1::bigint, $3::text, jsonb_array_length($4::jsonb), $13::integer, $12::integer,
            coalesce($12, jsonb_array_length($4)))
)
insert into tenax.item
       (execution_id, plan_id, step, item_no, element, state, placed, queue, runtime, priority, labels, available_at,
        queue_deadline, created_at, max_attempts, timeout, queue_ttl, vary, paused, lane, action_gate, action_most, key_gate, key_most,
        base_dir)
select $1, $2::bigint, $3, e.n - 1, e.element,
       case when $12 is null or e.n <= $12 then 'queued' else 'waiting' end, $12 is null or e.n <= $12,
       $5::text, $6::text, $7::smallint, $8::jsonb, $14::timestamptz,
       case when ($12 is null or e.n <= $12) and not $16::boolean then $14 + make_interval(secs => $11::double precision) end,
       $14, $9::integer, $10::double precision, $11, $15::jsonb, $16, $17::bigint, $18::text, $19::integer, ($20::text[])[e.n],
       $21::integer, (select x.base_dir from tenax.execution x where x.id = $1)
  from jsonb_array_elements($4) with ordinality as e (element, n)
 order by e.n
