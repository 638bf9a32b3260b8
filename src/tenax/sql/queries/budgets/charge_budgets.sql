-- Charges ended attempts to their executions, and to all above them in their trees. The budgets are locked.
-- $1 execution, $2 cost, $3 tokens, of each charge.
with charged as (
    select x.execution_id, sum(x.cost_usd) as cost_usd, sum(x.tokens)::bigint as tokens
      from unnest($1::bigint[], $2::double precision[], $3::bigint[]) as x (execution_id, cost_usd, tokens)
     group by x.execution_id
), above as (
    select p.id, sum(c.cost_usd) as cost_usd, sum(c.tokens)::bigint as tokens
      from charged c
      join tenax.budget b on b.execution_id = c.execution_id
     cross join unnest(b.path) as p (id)
     group by p.id
)
update tenax.budget b
   set own_usd = b.own_usd + coalesce(c.cost_usd, 0), own_tokens = b.own_tokens + coalesce(c.tokens, 0),
       spent_usd = b.spent_usd + a.cost_usd, spent_tokens = b.spent_tokens + a.tokens
  from above a
  left join charged c on c.execution_id = a.id
 where b.execution_id = a.id
