-- Inserts the budgets of new executions. $1 execution, $2 its parent if that belongs to a tree, $3 workflow, $4 and $5 limits.
insert into tenax.budget (execution_id, path, workflow, cost_usd, tokens)
select x.execution_id, coalesce((select p.path from tenax.budget p where p.execution_id = x.parent), '{}') || x.execution_id,
       x.workflow, x.cost_usd, x.tokens
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::double precision[], $5::bigint[])
    as x (execution_id, parent, workflow, cost_usd, tokens)
