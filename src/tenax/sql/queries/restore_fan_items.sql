-- Missing items of a fan-out, with what they had used up. With a lost worker: a lease that is over. With what they waited for: they
-- wait for that again. With a time only: they are held until then. $21: every item has a place.
insert into tenax.item
       (execution_id, plan_id, step, item_no, element, state, placed, queue, runtime, priority, labels, available_at,
        created_at, attempt, ledger, max_attempts, timeout, queue_ttl, paused, worker, lease_token, lease_until, timeout_at,
        started_at, awaiting, previous, vary, lane, action_gate, action_most, key_gate, key_most, suspect, base_dir)
select $1::bigint, $2::bigint, $3::text, x.item_no, x.element,
       case when x.awaiting is not null then 'accepted' when x.lost then 'leased' when x.until is not null then 'held'
            when x.attempt > 0 then 'retrying' when $21::boolean then 'queued' else 'waiting' end,
       x.lost or x.awaiting is not null or $21, $4::text, $5::text, $6::smallint, $7::jsonb, x.available_at,
       x.created_at, x.attempt, x.ledger, $8::integer, $9::double precision, $10::double precision, $11::boolean,
       x.lost_worker,
       case when x.lost then gen_random_uuid() end,
       case when x.lost then tenax.now() end,
       case when x.lost then tenax.now() + interval '1 year' else x.until end,
       case when x.awaiting is not null then tenax.now() end,
       x.awaiting, x.previous, x.vary, $24::bigint, $25::text, $26::integer, x.key, $28::integer, x.suspect,
       (select e.base_dir from tenax.execution e where e.id = $1)
  from (select u.*, u.lost_worker is not null and u.awaiting is null as lost
          from unnest($12::integer[], $13::jsonb[], $14::integer[], $15::jsonb[], $16::timestamptz[], $17::timestamptz[],
                      $18::text[], $19::jsonb[], $20::jsonb[], $22::text[], $23::timestamptz[], $27::text[], $29::boolean[])
            as u (item_no, element, attempt, ledger, available_at, created_at, lost_worker, previous, vary, awaiting, until, key, suspect)) as x
 order by x.item_no
