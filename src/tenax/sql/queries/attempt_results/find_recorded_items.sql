-- Finds the leased items of these executions whose attempts have recorded a result.
select i.id, i.execution_id
  from tenax.attempt_result r
  join tenax.item i on i.id = r.item_id and i.lease_token = r.lease_token
 where r.execution_id = any($1::bigint[])
