-- Returns the ends of the items of fan-outs of an execution.
select r.step, r.item_no as item, r.state, r.attempts, r.result, r.failure
  from tenax.item_result r
 where r.execution_id = $1::bigint
 order by r.step collate "C", r.item_no
