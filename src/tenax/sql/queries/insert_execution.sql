-- A new execution that begins with one step: its id and its time are made here. Where a worker waits for just that ($16 to $18, by
-- the terms $19 and $20), its item is leased as it is made. Returns the input too, where it is small, as it is kept: a lease
-- needs it.
with e as (
    insert into tenax.execution (id, plan_id, open_steps, input, base_dir, created_at, deadline_at, state)
    values (nextval('tenax.execution_id'), $1::bigint, $2::integer, $3::jsonb, $4::text, tenax.now(),
            tenax.now() + make_interval(secs => $5::double precision), 'running')
    returning id, case when pg_column_size(input) <= 1000 then input end as input
), i as (
    insert into tenax.item
           (execution_id, plan_id, base_dir, available_at, created_at, step, queue, runtime, priority, labels, max_attempts,
            timeout, queue_ttl, vary, state, attempt, queue_deadline, worker, lease_grant, lease_token, started_at, lease_until,
            timeout_at)
    select e.id, $1::bigint, $4::text, tenax.now(), tenax.now(), $7::text, $8::text, $9::text, $10::smallint, $11::jsonb,
           $12::integer, $13::double precision, $14::double precision, $15::jsonb,
           case when $16::text is null then 'queued' else 'leased' end, ($16::text is not null)::integer,
           case when $16::text is null then tenax.now() + make_interval(secs => $14::double precision) end,
           $16::text, $17::uuid, $18::uuid, case when $16::text is not null then tenax.now() end,
           tenax.now() + make_interval(secs => $19::double precision),
           tenax.now() + make_interval(secs => $13::double precision + $20::double precision)
      from e
    returning id, timeout, started_at, vary, date_part('epoch', created_at) as created
), l as (
    insert into tenax.log (execution_id, at, events) select e.id, tenax.now(), $6::text from e
)
select e.id, e.input, i.id as item_id, i.timeout, i.started_at, i.vary, i.created from e, i
