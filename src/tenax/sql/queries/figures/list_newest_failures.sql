-- Lists the newest failures: those that are being retried, and those after which an item has failed for good.
-- Quarantined items are among the first.
(select execution_id, step, nullif(item_no, -1) as item, attempt, class, reason, at, due, false as dead
   from tenax.retry_underway
  where class <> ''
  order by at desc
  limit $1::bigint)
union all
(select execution_id, step, item_no, attempts, class, reason, last_at, null, true
   from tenax.dead_letter
  where status = 'open' and rule <> 'poison'
  order by last_at desc, item_id desc
  limit $1::bigint)
 order by at desc, execution_id desc
 limit $1::bigint
