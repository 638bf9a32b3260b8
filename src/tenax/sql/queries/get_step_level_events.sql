-- As get_events, without those of single items of a fan-out.
select id, seq, type, at, step, item, attempt, data
  from tenax.event
 where execution_id = $1::bigint and item is null
 order by seq
