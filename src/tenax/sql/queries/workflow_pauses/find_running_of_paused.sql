-- Finds running executions of paused workflows that were not paused with them yet, at most $1, with their workflows. An
-- execution that a person has resumed since is left alone.
select e.id, w.name as workflow
  from tenax.workflow_pause wp
  join tenax.workflow w on w.name = wp.workflow
  join tenax.plan p on p.workflow_id = w.id
  join tenax.execution e on e.plan_id = p.id
 where wp.resumed_by is null and e.state = 'running'
   and not exists (select from tenax.workflow_paused x where x.execution_id = e.id)
 order by e.id
 limit $1::integer
