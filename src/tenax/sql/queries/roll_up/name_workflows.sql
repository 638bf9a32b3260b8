-- Returns the names of the workflows of executions.
select e.id, w.name
  from tenax.execution e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where e.id = any($1::bigint[])
