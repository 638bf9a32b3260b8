-- Returns the first $2 executions of a job.
select e.id, w.name as workflow, e.state as status, e.failure ->> 'class' as class, e.failure ->> 'reason' as reason
  from tenax.bulk_item b
  join tenax.execution e on e.id = b.execution_id
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where b.job_id = $1 and b.n <= $2::integer
 order by b.n
