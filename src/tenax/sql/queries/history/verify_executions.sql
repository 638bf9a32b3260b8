-- Returns these executions, in the order of their ids. The result of an execution with fan-outs and without `outputs`
-- may be large. So only this is returned of it: whether it matches the results of the steps, or was left out.
select e.id, e.plan_id, e.state, e.open_steps, e.created_at, e.finished_at, e.input, e.failure, e.retry_of, e.original_execution,
       e.parent_id, e.parent_step, e.parent_item_no, e.parent_attempt, e.compensation,
       exists (select from tenax.item i where i.execution_id = e.id) as has_work,
       case when not gathered.so then e.result end as result,
       case when gathered.so then e.result is null or e.result ? 'tenax:left_out'
                 or e.result = (select jsonb_object_agg(s.step, coalesce(s.result, 'null'::jsonb))
                                  from tenax.step s
                                 where s.execution_id = e.id and e.result ? s.step)
       end as result_gathered
  from tenax.execution e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 cross join lateral (
    select coalesce(w.body -> 'outputs', 'null'::jsonb) = 'null'::jsonb
           and (e.result ? 'tenax:left_out' or exists (select from tenax.fan f where f.execution_id = e.id)) as so
 ) as gathered
 where e.id = any($1::bigint[])
 order by e.id
