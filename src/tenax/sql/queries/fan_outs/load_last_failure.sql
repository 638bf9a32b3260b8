-- The failure of the last item of a fan-out's list that has failed.
select r.failure
  from tenax.item_result r
 where r.execution_id = $1::bigint and r.step = $2::text and r.state = 'failed'
 order by r.item_no desc
 limit 1
