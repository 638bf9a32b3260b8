-- Finds executions past their deadline.
select id
  from tenax.execution
 where state in ('running', 'paused') and deadline_at <= tenax.now()
 order by deadline_at
 limit $1::integer
