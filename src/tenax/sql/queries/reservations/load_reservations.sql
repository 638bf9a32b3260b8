-- Returns what is reserved for these items, and the usage that their running attempts have reported.
select i.id as item_id, r.budget, r.cost_usd, r.tokens, u.cost_usd as used_usd, u.tokens as used_tokens
  from tenax.item i
  left join tenax.reservation r on r.item_id = i.id
  left join tenax.attempt_usage u on u.item_id = i.id and u.lease_token = i.lease_token
 where i.id = any($1::bigint[]) and (r.item_id is not null or u.item_id is not null)
