-- The items of these executions that nobody runs ($2 false), or all of them ($2 true).
select i.id, i.execution_id, i.step, i.item_no, i.attempt, i.state, i.worker
  from tenax.item i
 where i.execution_id = any($1::bigint[]) and ($2::boolean or i.state <> 'leased')
 order by i.id
   for update of i
