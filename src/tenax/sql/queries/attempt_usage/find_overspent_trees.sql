-- Finds open executions whose tree has used more than its budget, running attempts included.
select e.id, b.cost_usd, b.tokens, b.spent_usd, b.spent_tokens, coalesce(u.cost_usd, 0)::double precision as running_usd,
       coalesce(u.tokens, 0)::bigint as running_tokens, b.exceeded_at
  from tenax.execution e
  join tenax.budget b on b.execution_id = e.id and (b.cost_usd is not null or b.tokens is not null)
  left join lateral (
    select sum(u.cost_usd) as cost_usd, sum(u.tokens) as tokens
      from tenax.reservation r
      join tenax.attempt_usage u on u.item_id = r.item_id
      join tenax.item i on i.id = r.item_id and i.lease_token = u.lease_token
     where r.budget = b.execution_id
  ) as u on true
 where e.budgeted and e.state in ('running', 'paused') and e.compensation is null and e.id <> all($1::bigint[])
   and (round((b.spent_usd + coalesce(u.cost_usd, 0))::numeric, 9) > b.cost_usd::numeric
        or b.spent_tokens + coalesce(u.tokens, 0) > b.tokens)
 order by e.id
 limit 50
