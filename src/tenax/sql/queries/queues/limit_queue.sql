-- Sets these limits of a queue exactly. A rate begins with all its tokens.
insert into tenax.queue_limit as old (queue, concurrency, rate, burst, tokens, refilled_at)
values ($1::text, $2::integer, $3::double precision, $4::integer, coalesce($4, 0), tenax.now())
    on conflict (queue) do update
   set concurrency = excluded.concurrency, rate = excluded.rate, burst = excluded.burst,
       tokens = case when old.rate is null then excluded.tokens else least(old.tokens, coalesce(excluded.burst, 0)) end,
       refilled_at = case when old.rate is null then excluded.refilled_at else old.refilled_at end
