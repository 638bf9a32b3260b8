-- Returns the steps of these executions. The result of a completed fan-out is compared with the rows of its items
-- here, since it may be large.
select s.execution_id, s.step, s.state, s.waiting_for, s.attempts, s.failure,
       case when f.step is null or s.state <> 'completed' or f.failed > f.tolerated then s.result end as result,
       case when f.step is not null and s.state = 'completed' and f.failed <= f.tolerated then (
          select s.result = coalesce(jsonb_agg(coalesce(i.result, 'null'::jsonb) order by n.no), '[]'::jsonb)
                 and s.failures = coalesce(jsonb_agg(jsonb_build_object('item', n.no) || i.failure order by n.no)
                                           filter (where i.failure is not null), '[]'::jsonb)
            from generate_series(0, f.total - 1) as n (no)
            left join tenax.item_result i on i.execution_id = s.execution_id and i.step = s.step and i.item_no = n.no)
       end as gathered
  from tenax.step s
  left join tenax.fan f on f.execution_id = s.execution_id and f.step = s.step
 where s.execution_id = any($1::bigint[])
 order by s.execution_id, s.step collate "C"
