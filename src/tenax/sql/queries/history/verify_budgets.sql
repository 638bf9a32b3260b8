-- Returns the budgets of these executions, with what their children say that they have spent.
select b.execution_id, b.path, b.own_usd, b.own_tokens, b.spent_usd, b.spent_tokens,
       coalesce(c.spent_usd, 0)::double precision as children_usd, coalesce(c.spent_tokens, 0)::bigint as children_tokens,
       p.path as parent_path,
       (select count(*) from tenax.reservation r
         where r.budget = b.execution_id and not exists (select from tenax.item i where i.id = r.item_id))::integer as orphans
  from tenax.budget b
  join tenax.execution e on e.id = b.execution_id
  left join lateral (
    select sum(x.spent_usd) as spent_usd, sum(x.spent_tokens) as spent_tokens
      from tenax.execution f
      join tenax.budget x on x.execution_id = f.id
     where f.parent_id = b.execution_id and x.path[array_length(x.path, 1) - 1] = b.execution_id
  ) as c on true
  left join tenax.budget p on p.execution_id = e.parent_id
 where b.execution_id = any($1::bigint[])
