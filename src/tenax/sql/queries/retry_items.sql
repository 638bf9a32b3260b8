-- Attempts that failed and are retried. As with finish_items: an execution that someone else is changing or that is not simply running
-- is left out, and so is a lease that is over; they go the long way.
with told as materialized (
    select u.*
      from unnest($1::text::bigint[], string_to_array($2::text, E'\n')::uuid[], $3::text::bigint[], $4::text::timestamptz[],
                  string_to_array($5::text, E'\n')::jsonb[], $6::text[], string_to_array($7::text, E'\n'))
        as u (item_id, token, execution_id, available_at, ledger, last_error, events)
     cross join lateral (
        select
          from tenax.execution e
         where e.id = u.execution_id and e.state = 'running' and e.compensation is null
           for update skip locked
     ) as locked
), again as (
    update tenax.item i
       set state = 'retrying', available_at = t.available_at, ledger = t.ledger, last_error = t.last_error, refused_by = null,
           queue_deadline = case when not i.paused then t.available_at + make_interval(secs => i.queue_ttl) end,
           worker = null, lease_grant = null, lease_token = null, lease_until = null, timeout_at = null, started_at = null
      from told t
     where i.id = t.item_id and i.lease_token = t.token
    returning i.id, i.execution_id, t.events
), logged as (
    insert into tenax.log (execution_id, at, events) select execution_id, $8::timestamptz, events from again
)
select id from again
