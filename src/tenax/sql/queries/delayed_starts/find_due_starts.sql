-- Finds executions whose start is due, at most $1, with their workflows.
select d.execution_id as id, w.name as workflow
  from tenax.delayed_start d
  join tenax.execution e on e.id = d.execution_id
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where d.start_at <= tenax.now()
 order by d.start_at, d.execution_id
 limit $1::integer
