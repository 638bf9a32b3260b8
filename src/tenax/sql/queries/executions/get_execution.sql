-- Returns an execution. A result of more than $2 bytes is left out: only its size is returned.
select e.id, e.plan_id, e.state, e.input, case when octet_length(r.result) <= $2 then r.result end as result,
       case when octet_length(r.result) <= $2 then null else coalesce(octet_length(r.result), pg_column_size(e.result)) end as result_size,
       e.failure, e.submit_key, e.retry_of, e.original_execution,
       array(select n.id from tenax.execution n where n.retry_of = e.id order by n.id limit 100) as retried_by,
       e.created_at, e.deadline_at, e.finished_at, e.parent_id, e.parent_step, e.parent_item_no,
       e.parent_attempt, e.compensation, e.budgeted, w.name as workflow, w.version, tenax.now() as now,
       (select d.start_at from tenax.delayed_start d where d.execution_id = e.id and e.state = 'paused') as starts_at
  from tenax.execution e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 -- The text is made only once. It is not made at all if the stored value is many times as large as the limit.
 cross join lateral (
    select case when pg_column_size(e.result) <= 8 * $2::bigint then e.result::text end as result offset 0
 ) as r
 where e.id = $1::bigint
