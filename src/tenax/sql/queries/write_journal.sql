-- All that a batch of decisions changes, in one statement.
with ended as (
    -- An array, and not a text: the plan may be made before the table is known to be large, and must not search in a list row by row.
    delete from tenax.item where id = any($1::bigint[])
), again as (
    update tenax.item i
       set state = r.state, available_at = r.available_at, attempt = r.attempt, ledger = coalesce(r.ledger, i.ledger),
           last_error = coalesce(r.last_error, i.last_error), refused_by = r.refused_by,
           queue_deadline = case when coalesce(r.placed, i.placed) and not i.paused
                                 then r.available_at + make_interval(secs => i.queue_ttl) end,
           worker = null, lease_grant = null, lease_token = null, lease_until = null, timeout_at = null, started_at = null,
           awaiting = null, placed = coalesce(r.placed, i.placed), previous = coalesce(r.previous, i.previous),
           vary = coalesce(r.vary, i.vary)
      from (select u.id, u.state, u.available_at, u.attempt, u.ledger, u.last_error,
                   nullif(string_to_array(u.refused_by, chr(10)), '{}') as refused_by, u.placed, u.previous, u.vary
              from unnest($2::text::bigint[], $3::text[], $4::text::timestamptz[], $5::text::integer[], $6::jsonb[], $7::text[], $8::text[],
                          $9::text::boolean[], $10::jsonb[], $11::jsonb[])
                as u (id, state, available_at, attempt, ledger, last_error, refused_by, placed, previous, vary)) as r
     where i.id = r.id
), fresh as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, available_at, queue_deadline,
            created_at, max_attempts, timeout, queue_ttl, vary, paused, lane, action_gate, action_most, key_gate, key_most,
            base_dir)
    select x.execution_id, x.plan_id, x.step, 'queued', x.queue, x.runtime, x.priority, x.labels, $12::timestamptz,
           case when not x.paused then $12 + make_interval(secs => x.queue_ttl) end,
           $12, x.max_attempts, x.timeout, x.queue_ttl, x.vary, x.paused, x.lane, x.gates ->> 'action',
           (x.gates ->> 'action_most')::integer, x.gates ->> 'key', (x.gates ->> 'key_most')::integer,
           x.base_dir
      from unnest($13::text::bigint[], $14::text::bigint[], $15::text[], $16::text[], $17::text[], $18::text::smallint[], $19::jsonb[],
                  $20::text::integer[], $21::text::double precision[], $22::text::double precision[], $23::jsonb[], $24::text::bigint[], $25::jsonb[],
                  $26::text[], $27::text::boolean[])
        as x (execution_id, plan_id, step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl, vary, lane, gates,
              base_dir, paused)
), stepped as (
    insert into tenax.step as s (execution_id, step, state, waiting_for, attempts, result, failure)
    select x.execution_id, x.step, x.state, x.waiting_for, x.attempts, x.result, x.failure
      from unnest($28::text::bigint[], $29::text[], $30::text[], $31::text::integer[], $32::text::integer[], $33::jsonb[], $34::jsonb[])
        as x (execution_id, step, state, waiting_for, attempts, result, failure)
        on conflict (execution_id, step) do update
       set state = excluded.state, waiting_for = excluded.waiting_for, attempts = excluded.attempts,
           result = excluded.result, failure = excluded.failure
), closed as (
    update tenax.execution e
       set state = x.state, open_steps = x.open_steps, result = x.result, failure = coalesce(x.failure, e.failure),
           compensation = x.compensation,
           deadline_at = case when x.compensation is null then e.deadline_at end,
           finished_at = case when x.state in ('running', 'paused') then null else $12 end
      from unnest($35::text::bigint[], $36::text[], $37::text::integer[], $38::jsonb[], $39::jsonb[], $40::text[])
        as x (id, state, open_steps, result, failure, compensation)
     where e.id = x.id
)
insert into tenax.log (execution_id, at, events)
select x.execution_id, $12, x.events
  from unnest($41::text::bigint[], $42::text[]) as x (execution_id, events)
