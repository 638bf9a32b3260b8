-- Finds executions that were paused with a workflow which goes on again, at most $1, with their workflows.
select x.execution_id as id, x.workflow
  from tenax.workflow_paused x
  left join tenax.workflow_pause wp on wp.workflow = x.workflow
 where wp.resumed_by is not null or wp.workflow is null
 order by x.execution_id
 limit $1::integer
