-- Finds the next leased items, after $2, whose attempts have reported usage.
select i.id, i.execution_id, i.plan_id, i.step, i.ledger::text, i.lease_token::text, u.cost_usd, u.tokens
  from tenax.attempt_usage u
  join tenax.item i on i.id = u.item_id and i.lease_token = u.lease_token
 where not i.compensates and i.id <> all($1::bigint[]) and i.id > $2::bigint
 order by i.id
 limit $3::integer
