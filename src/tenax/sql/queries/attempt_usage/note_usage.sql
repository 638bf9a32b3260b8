-- Stores what running attempts have used so far. $1 item, $2 lease token, $3 cost, $4 tokens. Only the holder of the lease is
-- believed. A later sum replaces an earlier one of the same attempt.
insert into tenax.attempt_usage as u (item_id, lease_token, cost_usd, tokens, at)
select i.id, i.lease_token, x.cost_usd, x.tokens, tenax.now()
  from unnest($1::bigint[], $2::uuid[], $3::double precision[], $4::bigint[]) as x (item_id, token, cost_usd, tokens)
  join tenax.item i on i.id = x.item_id and i.lease_token = x.token
 order by i.id
    on conflict (item_id) do update
   set lease_token = excluded.lease_token, at = excluded.at,
       cost_usd = case when u.lease_token = excluded.lease_token then coalesce(excluded.cost_usd, u.cost_usd) else excluded.cost_usd end,
       tokens = case when u.lease_token = excluded.lease_token then coalesce(excluded.tokens, u.tokens) else excluded.tokens end
