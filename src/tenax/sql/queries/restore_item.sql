-- A rebuilt item, with what it had used up and when it was due. With a lost worker: a lease that is over.
update tenax.item
   set attempt = $3::integer, ledger = $4::jsonb, available_at = $5::timestamptz, created_at = $6::timestamptz,
       state = case when $7::text is not null then 'leased' when $5 > tenax.now() then 'retrying' else 'queued' end,
       worker = $7, previous = $8::jsonb, vary = $9::jsonb,
       lease_token = case when $7 is not null then gen_random_uuid() end,
       lease_until = case when $7 is not null then tenax.now() end,
       timeout_at = case when $7 is not null then tenax.now() + interval '1 year' end
 where execution_id = $1::bigint and step = $2::text
