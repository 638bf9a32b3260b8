select step, min(timeout_at) as until, count(*) as items, min(last_error) as last_error
  from tenax.item
 where execution_id = $1::bigint and state = 'held'
 group by step
