-- Returns the first $2 executions or dead letters of a job.
select e.id, w.name as workflow, e.state as status, coalesce(l.class, e.failure ->> 'class') as class,
       coalesce(l.reason, e.failure ->> 'reason') as reason, b.letter_id as letter, l.step, l.item_no as item
  from tenax.bulk_item b
  join tenax.execution e on e.id = b.execution_id
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
  left join tenax.dead_letter l on l.item_id = b.letter_id
 where b.job_id = $1 and b.n <= $2::integer
 order by b.n
