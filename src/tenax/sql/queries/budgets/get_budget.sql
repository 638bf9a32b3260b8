-- Returns the budget of an execution's tree, with what is reserved and what running attempts have used. Returns also those
-- of the trees around it.
select b.execution_id, b.cost_usd, b.tokens, b.spent_usd, b.spent_tokens, b.own_usd, b.own_tokens, b.exceeded_at,
       coalesce(r.cost_usd, 0)::double precision as reserved_usd, coalesce(r.tokens, 0)::bigint as reserved_tokens,
       coalesce(r.running_usd, 0)::double precision as running_usd, coalesce(r.running_tokens, 0)::bigint as running_tokens,
       coalesce(r.n, 0)::integer as in_flight
  from tenax.budget o
  join tenax.budget b on b.execution_id = any(o.path)
  left join lateral (
    select sum(greatest(r.cost_usd, u.cost_usd)) as cost_usd, sum(greatest(r.tokens, u.tokens)) as tokens,
           sum(u.cost_usd) as running_usd, sum(u.tokens) as running_tokens, count(*) as n
      from tenax.reservation r
      left join tenax.attempt_usage u on u.item_id = r.item_id
     where r.budget = b.execution_id
  ) as r on true
 where o.execution_id = $1
 order by array_length(b.path, 1)
