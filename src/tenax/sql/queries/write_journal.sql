-- All that a batch of decisions changes, in one statement.
with ended as (
    delete from tenax.item where id = any($1::bigint[])
), again as (
    update tenax.item i
       set state = r.state, available_at = r.available_at, attempt = r.attempt, ledger = coalesce(r.ledger, i.ledger),
           last_error = coalesce(r.last_error, i.last_error), refused_by = r.refused_by,
           queue_deadline = r.available_at + make_interval(secs => i.queue_ttl),
           worker = null, lease_grant = null, lease_token = null, lease_until = null, timeout_at = null, started_at = null
      from (select u.id, u.state, u.available_at, u.attempt, u.ledger, u.last_error,
                   nullif(string_to_array(u.refused_by, chr(10)), '{}') as refused_by
              from unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::integer[], $6::jsonb[], $7::text[], $8::text[])
                as u (id, state, available_at, attempt, ledger, last_error, refused_by)) as r
     where i.id = r.id
), fresh as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, available_at, queue_deadline,
            created_at, max_attempts, timeout, queue_ttl)
    select x.execution_id, x.plan_id, x.step, 'queued', x.queue, x.runtime, x.priority, x.labels, $24::timestamptz,
           $24 + make_interval(secs => x.queue_ttl), $24, x.max_attempts, x.timeout, x.queue_ttl
      from unnest($9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::smallint[], $15::jsonb[],
                  $16::integer[], $17::double precision[], $18::double precision[])
        as x (execution_id, plan_id, step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl)
), stepped as (
    insert into tenax.step as s (execution_id, step, state, waiting_for, attempts, result, failure)
    select x.execution_id, x.step, x.state, x.waiting_for, x.attempts, x.result, x.failure
      from jsonb_to_recordset($19::jsonb)
        as x (execution_id bigint, step text, state text, waiting_for integer, attempts integer, result jsonb, failure jsonb)
        on conflict (execution_id, step) do update
       set state = excluded.state, waiting_for = excluded.waiting_for, attempts = excluded.attempts,
           result = excluded.result, failure = excluded.failure
), closed as (
    update tenax.execution e
       set state = x.state, open_steps = x.open_steps, result = x.result, failure = x.failure,
           finished_at = case when x.state in ('running', 'paused') then null else $24 end
      from unnest($20::bigint[], $21::text[], $22::integer[], $23::jsonb[], $25::jsonb[])
        as x (id, state, open_steps, result, failure)
     where e.id = x.id
)
insert into tenax.log (execution_id, at, events)
select x.execution_id, $24, x.events
  from unnest($26::bigint[], $27::jsonb[]) as x (execution_id, events)
