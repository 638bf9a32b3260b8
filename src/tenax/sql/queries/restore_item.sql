-- A rebuilt item, with what it had used up and when it was due. With a lost worker: a lease that is over. With what it waited for:
-- it waits for that again. With a time only: it is held until then.
update tenax.item
   set attempt = $3::integer, ledger = $4::jsonb, available_at = $5::timestamptz, created_at = $6::timestamptz,
       state = case when $10::text is not null then 'accepted' when $7::text is not null then 'leased'
                    when $11::timestamptz is not null then 'held' when $5 > tenax.now() then 'retrying' else 'queued' end,
       worker = $7, previous = $8::jsonb, vary = $9::jsonb, awaiting = $10,
       started_at = case when $10 is not null then tenax.now() end,
       lease_token = case when $7 is not null and $10 is null then gen_random_uuid() end,
       lease_until = case when $7 is not null and $10 is null then tenax.now() end,
       timeout_at = case when $7 is not null and $10 is null then tenax.now() + interval '1 year' else $11 end,
       suspect = $12::boolean
 where execution_id = $1::bigint and step = $2::text
