-- A new execution that begins with one step: its id and its time are made here. Returns the input too, where it is small, as it
-- is kept: a lease will need it.
with e as (
    insert into tenax.execution (id, plan_id, open_steps, input, base_dir, created_at, deadline_at, state)
    values (nextval('tenax.execution_id'), $1::bigint, $2::integer, $3::jsonb, $4::text, tenax.now(),
            tenax.now() + make_interval(secs => $5::double precision), 'running')
    returning id, case when pg_column_size(input) <= 1000 then input end as input
), i as (
    insert into tenax.item
           (execution_id, plan_id, base_dir, state, available_at, created_at, queue_deadline, step, queue, runtime, priority,
            labels, max_attempts, timeout, queue_ttl, vary)
    select e.id, $1::bigint, $4::text, 'queued', tenax.now(), tenax.now(), tenax.now() + make_interval(secs => $14::double precision),
           $7::text, $8::text, $9::text, $10::smallint, $11::jsonb, $12::integer, $13::double precision, $14::double precision,
           $15::jsonb
      from e
), l as (
    insert into tenax.log (execution_id, at, events) select e.id, tenax.now(), $6::text from e
)
select id, input from e
