-- Returns the steps of an execution that have held work: the number of items, the latest end of a hold, and the first
-- item with the workers that have lost their lease over it.
select step, min(expires_at) as until, count(*) as items, min(last_error) as last_error,
       (array_agg(item_no order by item_no nulls first, id))[1] as item,
       (array_agg(coalesce(ledger -> 'lost_by', '[]') order by item_no nulls first, id))[1] as lost_by
  from tenax.item
 where execution_id = $1::bigint and state = 'held'
 group by step
