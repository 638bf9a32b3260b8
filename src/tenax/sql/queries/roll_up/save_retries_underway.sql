insert into tenax.retry_underway (execution_id, step, item_no, compensates, attempt, class, reason, delay, due, worker, at)
select k.execution_id, k.step, k.item_no, k.compensates, k.attempt, k.class, k.reason, k.delay,
       to_timestamp(k.due), k.worker, tenax.now()
  from unnest($1::text::bigint[], $2::text[], $3::text::integer[], $4::text::boolean[], $5::text::integer[], $6::text[],
              $7::text[], $8::text::double precision[], $9::text::double precision[], $10::text[])
    as k (execution_id, step, item_no, compensates, attempt, class, reason, delay, due, worker)
    on conflict (execution_id, step, item_no, compensates) do update
   set attempt = excluded.attempt, class = excluded.class, reason = excluded.reason, delay = excluded.delay, due = excluded.due, worker = excluded.worker,
       at = excluded.at
