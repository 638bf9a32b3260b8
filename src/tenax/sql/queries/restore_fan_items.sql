-- Missing items of a fan-out, with what they had used up. With a lost worker: a lease that is over.
insert into tenax.item
       (execution_id, plan_id, step, item_no, element, state, placed, queue, runtime, priority, labels, available_at,
        created_at, attempt, ledger, max_attempts, timeout, queue_ttl, vary, paused, worker, lease_token, lease_until, timeout_at)
select $1::bigint, $2::bigint, $3::text, x.item_no, x.element,
       case when x.lost_worker is not null then 'leased' when x.attempt > 0 then 'retrying' else 'waiting' end,
       x.lost_worker is not null, $4::text, $5::text, $6::smallint, $7::jsonb, x.available_at,
       x.created_at, x.attempt, x.ledger, $8::integer, $9::double precision, $10::double precision, $11::jsonb, $12::boolean,
       x.lost_worker,
       case when x.lost_worker is not null then gen_random_uuid() end,
       case when x.lost_worker is not null then tenax.now() end,
       case when x.lost_worker is not null then tenax.now() + interval '1 year' end
  from unnest($13::integer[], $14::jsonb[], $15::integer[], $16::jsonb[], $17::timestamptz[], $18::timestamptz[], $19::text[])
    as x (item_no, element, attempt, ledger, available_at, created_at, lost_worker)
 order by x.item_no
