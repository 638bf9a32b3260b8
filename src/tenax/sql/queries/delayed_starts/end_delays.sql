-- Ends the delays of executions: their first items are due now, and their times count from now.
with ended as (delete from tenax.delayed_start where execution_id = any($1::bigint[]) returning execution_id)
update tenax.item i
   set available_at = tenax.now(), created_at = tenax.now()
  from ended
 where i.execution_id = ended.execution_id and i.state = 'queued'
