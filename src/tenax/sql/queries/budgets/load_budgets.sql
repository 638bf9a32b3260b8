-- Returns locked budgets ($1), with what is reserved for items other than these ($2), and for how many. An attempt that
-- has used more than was reserved for it counts with what it has used.
select b.execution_id, b.path, b.workflow, b.cost_usd, b.tokens, b.spent_usd, b.spent_tokens, b.highest::text,
       coalesce(r.cost_usd, 0)::double precision as others_usd, coalesce(r.tokens, 0)::bigint as others_tokens,
       coalesce(r.n, 0)::integer as others
  from tenax.budget b
  left join lateral (
    select sum(greatest(r.cost_usd, u.cost_usd)) as cost_usd, sum(greatest(r.tokens, u.tokens)) as tokens, count(*) as n
      from tenax.reservation r
      left join tenax.attempt_usage u on u.item_id = r.item_id
     where r.budget = b.execution_id and r.item_id <> all($2::bigint[])
  ) as r on true
 where b.execution_id = any($1::bigint[])
