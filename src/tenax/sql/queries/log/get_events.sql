select id, seq, type, at, step, item, attempt, data
  from tenax.event
 where execution_id = $1::bigint
 order by seq
