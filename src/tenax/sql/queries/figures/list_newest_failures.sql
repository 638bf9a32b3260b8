-- Lists the failures that are being retried, the newest first.
select execution_id, step, nullif(item_no, -1) as item, attempt, class, reason, at, due
  from tenax.retry_underway
 order by at desc, execution_id desc
 limit $1::bigint
