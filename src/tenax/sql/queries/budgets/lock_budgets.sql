-- Locks the budgets of these executions, and of those above them in their trees, in the order of the ids.
select b.execution_id
  from tenax.budget b
 where b.execution_id in (select unnest(o.path) from tenax.budget o where o.execution_id = any($1::bigint[]))
 order by b.execution_id
   for update of b
