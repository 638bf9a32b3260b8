-- Returns the failure of the last failed item of a fan-out's list.
select r.failure
  from tenax.item_result r
 where r.execution_id = $1::bigint and r.step = $2::text and r.state = 'failed'
 order by r.item_no desc
 limit 1
