select e.id, e.plan_id, e.state, e.input, e.result, e.failure, e.submit_key, e.retry_of, e.original_execution,
       e.created_at, e.deadline_at, e.finished_at, e.parent_id, e.parent_step, e.parent_item_no,
       e.parent_attempt, e.compensation, w.name as workflow, w.version, tenax.now() as now
  from tenax.execution e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where e.id = $1::bigint
