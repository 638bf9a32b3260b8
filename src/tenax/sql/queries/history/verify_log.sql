-- Returns the rows of the log of these executions, in order.
select l.execution_id, l.id, l.at, l.xid::text::bigint as xid, l.events
  from tenax.log l
 where l.execution_id = any($1::bigint[])
 order by l.execution_id, l.id
