-- Returns the dead letters of these executions: those of items of fan-outs ($2), or all others.
select l.execution_id, l.step, l.item_no as item, l.compensates as undoes, l.status, l.rule, l.class as failure_class, l.reason,
       l.message, l.attempts, l.failed_times, l.tolerated, l.first_at, l.last_at
  from tenax.dead_letter l
 where l.execution_id = any($1::bigint[]) and (l.item_no is not null) = $2::boolean
 order by l.execution_id, l.step collate "C", l.item_no, l.compensates
